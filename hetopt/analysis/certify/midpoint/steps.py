"""The seventeen steps of the check, in order; each is a list of exact inequalities.

A step that is true for every instance by a proof ("lemma") fails only if an implementation, or the
evidence handed in, is wrong; it is never bad luck.  ``Step`` keeps the inequality with the least
room, or the first one that is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from hetopt.analysis.certify.midpoint import strong
from hetopt.analysis.certify.midpoint.constants import Constants, factor_k, phi, phi_plain, psi
from hetopt.analysis.certify.midpoint.decomposition import Decomposition, ListSchedule
from hetopt.analysis.certify.midpoint.lists import Rule, TaskSchedule, completion
from hetopt.analysis.certify.midpoint.points import Inequality, Point, lp_inequalities, split_bound
from hetopt.analysis.certify.midpoint.tasks import Rational, TaskProblem

__all__ = ["STEP_NAMES", "Evidence", "OutOfTime", "Step", "check_step", "check_steps"]

STEP_NAMES = {
    1: "data and constants",
    2: "exact LP point",
    3: "lower bound",
    4: "list order",
    5: "schedule and placement rule",
    6: "embedding of the schedule in the LP",
    7: "idle time (Lemma 1)",
    8: "decomposition (Lemma 2)",
    9: "work in full times (Lemma 2d, Corollary 2')",
    10: "stretch of path tasks (Lemma 2e)",
    11: "chains in the LP (Lemma 4)",
    12: "load in the LP (Lemma 3)",
    13: "start time by work and path (P)",
    14: "start time by midpoint (Psi)",
    15: "completion times (Theorem 2)",
    16: "corollaries A and B",
    17: "reported ratios",
}


@dataclass(frozen=True)
class Step:
    """Outcome of one step.

    ``left <= right`` (ticks, products of ticks, or pure numbers) is the inequality with the least
    room, or the first broken one; ``checked`` counts the inequalities.
    """

    id: int
    name: str
    ok: bool
    left: Fraction | None
    right: Fraction | None
    where: str
    checked: int


@dataclass(frozen=True)
class Evidence:
    """Everything that is checked; nothing in it is believed.

    ``split`` is the evidence for the lower bound (see ``points.split_bound``); ``schedule_values``
    are values of feasible schedules known from elsewhere, ticks.
    """

    problem: TaskProblem
    constants: Constants
    point: Point
    order: tuple[int, ...]
    schedule: TaskSchedule
    rule: Rule
    split: tuple[Rational, ...]
    schedule_values: tuple[Fraction, ...] = ()

    @property
    def capacity(self) -> Fraction:
        """B of the LP: M."""
        return Fraction(self.problem.num_gpus)

    @cached_property
    def start_factor(self) -> Fraction:
        """Psi(B, W, e, alpha_c), rounded up."""
        c = self.constants
        return psi(self.capacity, c.weakest, c.e, c.alpha_c)

    @cached_property
    def factor(self) -> Fraction:
        """K, rounded up."""
        return factor_k(self.start_factor, self.constants.alpha_c)

    @cached_property
    def lower_bound(self) -> Fraction:
        """What ``split`` proves, ticks."""
        return split_bound(self.problem, self.split, self.capacity)

    @cached_property
    def point_value(self) -> Fraction:
        """Value of the LP point, ticks."""
        return self.problem.value(self.point.completion)

    @cached_property
    def list_value(self) -> Fraction:
        """Value of the list schedule, ticks."""
        return self.problem.value(completion(self.problem, self.schedule))

    @cached_property
    def list(self) -> ListSchedule:
        """The schedule with its list."""
        return ListSchedule(self.problem, self.schedule, self.order)

    @cached_property
    def work(self) -> tuple[int, ...]:
        """u_j: q-work of the list up to j, units."""
        out, total = [0] * self.problem.num_tasks, 0
        for i in self.order:
            total += self.problem.shortest[i]
            out[i] = total
        return tuple(out)

    @cached_property
    def gpu_work(self) -> tuple[int, ...]:
        """GPU time of the tasks listed before j, units."""
        out, total = [0] * self.problem.num_tasks, 0
        for i in self.order:
            out[i] = total
            total += self.list.end[i] - self.schedule.start[i]
        return tuple(out)

    @cached_property
    def decompositions(self) -> tuple[Decomposition, ...]:
        """Lemma 2 for every task, in list order."""
        return tuple(self.list.decompose(j) for j in self.order)

    @cached_property
    def seen_full_times(self) -> set[tuple[int, int, int]]:
        """Full times (head, from, to) that step 8 has looked at already."""
        return set()

    @cached_property
    def sums(self) -> dict[int, _Sums]:
        """Theta, X, Y, D and stretch of each decomposition."""
        return {d.task: _sums(self, d) for d in self.decompositions}


@dataclass(frozen=True)
class _Sums:
    heads: Fraction  # Theta
    others: Fraction  # X
    syncs: Fraction  # Y
    moment: Fraction  # D
    trained: Fraction  # sum of lambda p-hat


def _sums(ev: Evidence, d: Decomposition) -> _Sums:
    q, sigma, h = ev.problem.shortest, ev.problem.shortest_sync, ev.point.midpoint
    heads = others = syncs = moment = trained = Fraction(0)
    for piece in d.path:
        i, part = piece.task, piece.lam * q[piece.task]
        if i in d.heads:
            heads += part
        else:
            others += part
        syncs += piece.lam * sigma[i]
        moment += part * (h[d.task] - h[i])
        trained += piece.lam * (ev.list.end[i] - ev.schedule.start[i])
    return _Sums(heads, others, syncs, moment, trained)


# ---------------------------------------------------------------------------------------------- steps


def _pure(left: Rational, right: Rational, where: str, *, equal: bool = False) -> Inequality:
    return Inequality(left, right, where, equal, power=0)


def _data(ev: Evidence) -> Iterator[Inequality]:
    c, p = ev.constants, ev.problem
    yield _pure(Fraction(c.fewest) / c.alpha_p, c.weakest, "min |E_v| / alpha_p <= W")
    yield _pure(c.weakest, c.capacity, "W <= V")
    yield _pure(c.capacity, p.num_gpus, "V <= M")
    yield _pure(1, c.alpha_c, "1 <= alpha_c")
    if c.alpha is not None:
        yield _pure(c.alpha_c, c.alpha, "alpha_c <= max(alpha_p, alpha_s)")
    yield _pure(1, c.e, "1 <= e")
    yield _pure(c.e * (1 + c.rho), 2 * c.rho, "e = 2 rho / (1 + rho)", equal=True)
    yield _pure(1, c.rho, "1 <= rho")
    for i in range(p.num_tasks):
        yield _pure(1, p.shortest[i], f"p > 0 for {p.name(i)}")
    for p_row, s_row in p.kinds:
        q, sigma = min(x for x in p_row if x is not None), min(x for x in s_row if x is not None)
        top = max((x or 0) + (y or 0) for x, y in zip(p_row, s_row, strict=True))
        yield Inequality(top, c.alpha_c * (q + sigma), "p + s <= alpha_c (q + sigma)")
        yield Inequality(max(x for x in p_row if x is not None), c.alpha_p * q, "p <= alpha_p q")


def _point(ev: Evidence) -> Iterator[Inequality]:
    yield from lp_inequalities(ev.problem, ev.point, ev.capacity)


def _lower_bound(ev: Evidence) -> Iterator[Inequality]:
    yield _pure(ev.lower_bound, ev.point_value, "lower bound <= value of the LP point")
    yield _pure(ev.lower_bound, ev.list_value, "lower bound <= value of the list schedule")
    for value in ev.schedule_values:
        yield _pure(ev.lower_bound, value, "lower bound <= value of a known schedule")


def _order(ev: Evidence) -> Iterator[Inequality]:
    p, h = ev.problem, ev.point.midpoint
    yield _pure(len(set(ev.order)), p.num_tasks, "every task is listed once", equal=True)
    for i, k in pairwise(ev.order):
        yield Inequality(h[i], h[k], f"H of {p.name(i)} <= H of {p.name(k)}")
    for n, rounds in enumerate(p.rounds):
        for r, (before, after) in enumerate(pairwise(rounds)):
            last, first = (f(ev.list.position[i] for i in tasks) for f, tasks in ((max, before), (min, after)))
            yield _pure(last + 1, first, f"{p.names[n]}: round {r} is listed before round {r + 1}")


def _schedule(ev: Evidence) -> Iterator[Inequality]:
    p, s, made = ev.problem, ev.schedule, ev.list
    for m, tasks in enumerate(made.on_gpu):
        for i, k in pairwise(tasks):
            yield Inequality(made.end[i], s.start[k], f"GPU {m}: {p.name(i)} ends before {p.name(k)} starts")
    for i in range(p.num_tasks):
        yield _pure(int(s.gpu[i] not in p.eligible[i]), 0, f"{p.name(i)} may run on GPU {s.gpu[i]}", equal=True)
        yield Inequality(made.ready[i], s.start[i], f"{p.name(i)} starts when it is ready or later")
    yield from _placement_insertion(ev) if ev.rule is Rule.R3 else _placement(ev)


def _placement(ev: Evidence) -> Iterator[Inequality]:
    p, s = ev.problem, ev.schedule
    free = [0] * p.num_gpus
    for i in ev.order:
        m, least = s.gpu[i], min(free[g] for g in p.eligible[i])
        due = max(least, ev.list.ready[i])
        yield Inequality(s.start[i], due, f"{p.name(i)} starts at max(F, R)", equal=True)
        limit = least if ev.rule is Rule.R1 else due
        yield Inequality(free[m], limit, f"GPU {m} is one that the rule allows for {p.name(i)}")
        free[m] = max(free[m], ev.list.end[i])


def _placement_insertion(ev: Evidence) -> Iterator[Inequality]:
    """R3: no eligible GPU has a gap that is long enough and begins earlier."""
    p, s, made = ev.problem, ev.schedule, ev.list
    for i in ev.order:
        place = made.position[i]
        earliest: int | None = None
        for m in p.eligible[i]:
            time, length = made.ready[i], p.processing[i][m] or 0
            for k in made.on_gpu[m]:
                if made.position[k] < place and made.end[k] > time:
                    if s.start[k] >= time + length:
                        break
                    time = made.end[k]
            earliest = time if earliest is None else min(earliest, time)
        yield Inequality(s.start[i], earliest or 0, f"{p.name(i)} starts at the earliest fit", equal=True)


def _embedding(ev: Evidence) -> Iterator[Inequality]:
    p, s = ev.problem, ev.schedule
    done = completion(p, s)
    middle = tuple((s.start[i] + ev.list.end[i]) // 2 for i in range(p.num_tasks))
    initial = tuple(s.start[i] + p.shortest[i] // 2 for i in range(p.num_tasks))
    for label, h, capacity in (
        ("E2, B = M", middle, ev.capacity),
        ("E2, B = V", middle, ev.constants.capacity),
        ("E1, B = M", initial, ev.capacity),
    ):
        for item in lp_inequalities(p, Point(h, done), capacity):
            yield Inequality(item.left, item.right, f"{label}: {item.where}")
    ends = [[max(ev.list.synced[i] for i in tasks) for tasks in rounds] for rounds in p.rounds]
    yield from strong.inequalities(p, middle, ends)


def _idle(ev: Evidence) -> Iterator[Inequality]:
    p, s, made = ev.problem, ev.schedule, ev.list
    free = [0] * p.num_gpus
    for i in ev.order:
        m = s.gpu[i]
        if s.start[i] > free[m]:  # every task on m so far ends earlier: this one ends an idle period
            yield Inequality(s.start[i], max(made.ready[i], free[m]), f"{p.name(i)} ends an idle period when ready")
        free[m] = max(free[m], made.end[i])
    for v in ev.order:
        if made.chain_driven(v):
            continue
        idle = made.idle_before(v)
        if idle is not None:
            k = idle.ended_by
            yield Inequality(
                s.start[k], made.ready[k], f"{p.name(k)} ends the idle period before {p.name(v)}", equal=True
            )


def _decomposition(ev: Evidence) -> Iterator[Inequality]:
    p, s, made = ev.problem, ev.schedule, ev.list
    ev.seen_full_times.clear()
    for d in ev.decompositions:
        j, name = d.task, p.name(d.task)
        covered = d.full + sum(piece.tau for piece in d.path) + d.release
        yield Inequality(s.start[j], covered, f"(a) S = G + path + A for {name}", equal=True)
        tasks = [piece.task for piece in d.path]
        yield _pure(len(tasks), len(set(tasks)), f"(b) path tasks of {name} are distinct", equal=True)
        for i in tasks:
            yield _pure(made.position[i] + 1, made.position[j], f"(b) {p.name(i)} is listed before {name}")
        for a, b in pairwise(d.blocks):
            order = (made.position[b.target], made.position[b.entered_at], made.position[a.first])
            yield _pure(order[0], order[1], f"(b) target before the block's last task, {name}")
            yield _pure(order[1] + 1, order[2], f"(b) each block is listed before the head of the next, {name}")
            yield Inequality(b.cut, a.cut, f"blocks of {name} go back in time")
        for block in d.blocks:
            if not block.is_root and not ev.constants.forbidden and block is not d.blocks[0]:
                yield Inequality(
                    s.start[block.first] + 1, block.cut, f"the head of a later block of {name} starts before L"
                )
            for piece in block.path:
                yield Inequality(1, piece.tau, f"path pieces of {name} are not empty")
            if block.full is not None and block.full[0] < block.full[1]:
                yield from _full(ev, block.first, *block.full)


def _full(ev: Evidence, v: int, low: int, high: int) -> Iterator[Inequality]:
    """Every GPU that v may use works on tasks listed before v throughout [low, high)."""
    if (v, low, high) not in ev.seen_full_times:
        ev.seen_full_times.add((v, low, high))
        made, place = ev.list, ev.list.position[v]
        for m in ev.problem.eligible[v]:
            busy = sum(
                max(0, min(made.end[i], high) - max(ev.schedule.start[i], low))
                for i in made.on_gpu[m]
                if made.position[i] < place
            )
            yield Inequality(high - low, busy, f"(c) GPU {m} is busy in the full time before {ev.problem.name(v)}")


def _work(ev: Evidence) -> Iterator[Inequality]:
    c, q = ev.constants, ev.problem.shortest
    fewest = c.fewest
    for d in ev.decompositions:
        j, t, name = d.task, ev.sums[d.task], ev.problem.name(d.task)
        yield Inequality(
            c.weakest * d.full, ev.work[j] - q[j] - t.heads - t.others, f"W G <= u - q - Theta - X, {name}"
        )
        yield Inequality(fewest * d.full + t.trained, ev.gpu_work[j], f"M G + path <= GPU work before {name}")
        waits = sum(piece.tau for piece in d.path) - t.trained
        right = Fraction(ev.gpu_work[j]) / fewest + (1 - Fraction(1, fewest)) * t.trained + waits + d.release
        yield Inequality(ev.schedule.start[j], right, f"Corollary 2' for {name}")


def _stretch(ev: Evidence) -> Iterator[Inequality]:
    p = ev.problem
    seen: set[tuple[int, int]] = set()
    for d in ev.decompositions:
        for piece in d.path:
            if (piece.task, piece.tau) not in seen:
                seen.add((piece.task, piece.tau))
                best = p.shortest[piece.task] + p.shortest_sync[piece.task]
                yield Inequality(
                    piece.tau,
                    ev.constants.alpha_c * piece.lam * best,
                    f"tau <= alpha_c lambda (q + sigma), {p.name(piece.task)}",
                )


def _chains(ev: Evidence) -> Iterator[Inequality]:
    p, h, q, sigma, e = ev.problem, ev.point.midpoint, ev.problem.shortest, ev.problem.shortest_sync, ev.constants.e
    for d in ev.decompositions:
        j, t, name = d.task, ev.sums[d.task], p.name(d.task)
        for block in d.blocks:
            k, v = block.target, block.first
            length = sum(q[piece.task] + sigma[piece.task] for piece in block.path)
            if block.is_root:
                low = p.release[p.job[v]]
                yield Inequality(low + length, h[k] - q[k] // 2, f"4(a) root block of {name}")
            else:
                yield Inequality(length, (h[k] - q[k] // 2) - (h[v] - q[v] // 2), f"4(a) block of {name}")
        for a, b in pairwise(d.blocks):
            yield Inequality(h[b.target], h[a.first], f"4(b) blocks of {name}")
        yield Inequality(h[d.blocks[0].target], h[j], f"4(b) first block of {name}")
        yield Inequality(t.heads / e + t.others + t.syncs + d.release, h[j], f"4(c) {name}")
        right = t.heads**2 / (2 * e) + t.heads * t.others / e + t.others**2 / 2
        yield Inequality(right, t.moment, f"4(d) {name}", power=2)


def _load(ev: Evidence) -> Iterator[Inequality]:
    h = ev.point.midpoint
    for j in ev.order:
        u, name = ev.work[j], ev.problem.name(j)
        yield Inequality(
            Fraction(u * u) / (2 * ev.capacity), h[j] * u - ev.sums[j].moment, f"u^2/(2B) <= H u - D, {name}", power=2
        )
        yield Inequality(u, 2 * ev.capacity * h[j], f"u <= 2 B H, {name}")


def _start_by_work(ev: Evidence) -> Iterator[Inequality]:
    c = ev.constants
    for d in ev.decompositions:
        t = ev.sums[d.task]
        load = (ev.work[d.task] - ev.problem.shortest[d.task] - t.heads - t.others) / c.weakest
        right = load + d.release + c.alpha_c * (t.heads + t.others + t.syncs)
        yield Inequality(ev.schedule.start[d.task], right, f"(P) {ev.problem.name(d.task)}")


def _start_by_midpoint(ev: Evidence) -> Iterator[Inequality]:
    c = ev.constants
    simple = 2 * ev.capacity / c.weakest + c.e * c.alpha_c
    yield _pure(ev.start_factor, simple + Fraction(1, 1 << 60), "Psi <= 2 B/W + e alpha_c")
    for j in ev.order:
        yield Inequality(
            ev.schedule.start[j], ev.start_factor * ev.point.midpoint[j], f"S <= Psi H, {ev.problem.name(j)}"
        )


def _completion(ev: Evidence) -> Iterator[Inequality]:
    p, c = ev.problem, ev.constants
    for j in ev.order:
        right = ev.start_factor * ev.point.midpoint[j] + c.alpha_c * (p.shortest[j] + p.shortest_sync[j])
        yield Inequality(ev.list.synced[j], right, f"end <= Psi H + alpha_c (q + sigma), {p.name(j)}")
    for n, done in enumerate(completion(p, ev.schedule)):
        yield Inequality(done, ev.factor * ev.point.completion[n], f"C <= K C(LP), {p.names[n]}")
    yield _pure(ev.list_value, ev.factor * ev.point_value, "list value <= K x value of the LP point")


def _corollaries(ev: Evidence) -> Iterator[Inequality]:
    c, p = ev.constants, ev.problem
    if c.forbidden or c.alpha is None:
        return
    factors = [("alpha Phi_e(M)", c.alpha * phi(p.num_gpus, c.e), True)]
    if c.e == 1:
        factors.append(("3 alpha", 3 * c.alpha, True))
    if c.sync_free and c.all_at_zero:
        factors.append(("Corollary B", c.alpha * phi_plain(p.num_gpus, c.e), False))
    for label, factor, jobs_too in factors:
        for j in ev.order:
            yield Inequality(ev.schedule.start[j], factor * ev.point.midpoint[j], f"S <= {label} H, {p.name(j)}")
        for n, done in enumerate(completion(p, ev.schedule) if jobs_too else ()):
            yield Inequality(done, factor * ev.point.completion[n], f"C <= {label} C(LP), {p.names[n]}")


def _report(ev: Evidence) -> Iterator[Inequality]:
    for value in (ev.list_value, *ev.schedule_values):
        yield _pure(ev.lower_bound, value, "ratio of a schedule to the lower bound is at least 1")
    if ev.lower_bound > 0:
        slack = ev.point_value / ev.lower_bound
        yield _pure(ev.list_value / ev.lower_bound, ev.factor * slack, "measured ratio <= K x (LP point / lower bound)")


_STEPS: dict[int, Callable[[Evidence], Iterable[Inequality]]] = {
    1: _data,
    2: _point,
    3: _lower_bound,
    4: _order,
    5: _schedule,
    6: _embedding,
    7: _idle,
    8: _decomposition,
    9: _work,
    10: _stretch,
    11: _chains,
    12: _load,
    13: _start_by_work,
    14: _start_by_midpoint,
    15: _completion,
    16: _corollaries,
    17: _report,
}


def _room(item: Inequality) -> tuple[int, int]:
    """Relative room (right - left) / max(|left|, |right|) as numerator and denominator > 0."""
    left, right = item.left, item.right
    a, c = left.numerator * right.denominator, right.numerator * left.denominator
    return c - a, max(abs(a), abs(c)) or 1


def check_step(ev: Evidence, number: int) -> Step:
    """Run one step; every inequality is evaluated until one is broken."""
    tightest: Inequality | None = None
    room: tuple[int, int] | None = None
    count, reason = 0, ""
    try:
        for item in _STEPS[number](ev):
            count += 1
            if not item.holds:
                tightest, reason = item, item.where
                break
            if item.equal:
                tightest = tightest or item
            else:
                here = _room(item)
                if room is None or here[0] * room[1] < room[0] * here[1]:
                    tightest, room = item, here
    except ValueError as error:  # the evidence does not even have the form that the step needs
        tightest, reason = None, str(error)
    sides: tuple[Fraction | None, Fraction | None] = (None, None)
    if tightest is not None:
        scale = ev.problem.unit**tightest.power
        sides = (Fraction(tightest.left) / scale, Fraction(tightest.right) / scale)
    where = reason or ("nothing to check here" if tightest is None else tightest.where)
    return Step(number, STEP_NAMES[number], not reason, *sides, where, count)


class OutOfTime(Exception):
    """The caller's limit was reached between two inequalities; nothing is wrong with the evidence."""


def check_steps(ev: Evidence, stop: Callable[[], bool] | None = None) -> tuple[Step, ...]:
    """All steps, in order.

    Raises
    ------
    OutOfTime
        ``stop`` said so, before a step or between two tasks of the decomposition.
    """
    if stop is not None:
        made = []
        for j in ev.order:
            if stop():
                raise OutOfTime
            try:
                made.append(ev.list.decompose(j))
            except ValueError:  # step 8 reports it
                break
        else:
            ev.__dict__["decompositions"] = tuple(made)
    out = []
    for number in _STEPS:
        if stop is not None and stop():
            raise OutOfTime
        out.append(check_step(ev, number))
    return tuple(out)

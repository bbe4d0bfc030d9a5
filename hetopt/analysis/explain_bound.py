"""The seventeen steps in words, for a reader who meets the proof for the first time."""

from __future__ import annotations

from typing import Final

__all__ = ["MEANING", "paragraph"]

MEANING: Final = {
    1: "For each task i let q_i be its shortest training time and sigma_i its shortest sync time over the GPUs that it may use. "
    "alpha_p, alpha_s and alpha_c say how much longer than that a task can take; V and W are the most and the least work, measured in q, "
    "that all GPUs together do in a tick; rho says how much shorter a later round of a job can be than an earlier one, and e = 2 rho/(1+rho).",
    2: "The solver gives midpoints H in floating point. They are put on a grid, lifted until releases and chains hold, and shifted "
    "together until every load inequality holds. The result is a feasible point of the LP in exact numbers, so every theorem about feasible points applies to it.",
    3: "Each job splits its weight between its critical path and its tasks. For a fixed split the LP falls apart: paths are known, and the load part is solved "
    "by Smith's rule. So any split proves a lower bound, with no solver involved. It must not exceed the value of any point or schedule.",
    4: "The list holds the tasks by midpoint. As every q is positive, a task always comes after all tasks of the round before.",
    5: "The list schedule is checked from scratch: nothing overlaps, nothing starts early, and each task starts when and where the rule puts it.",
    6: "The schedule itself, read as midpoints start + p/2, has to satisfy the LP; that is why the LP is a lower bound. With start + q/2 this is true for capacity M, but not for V. "
    "The stronger inequalities (S1) to (S7) are tested as well.",
    7: "Lemma 1. If a task had to wait for a GPU although some GPU was idle before, then whoever ended the last idle period started the moment it was ready: it was held up by its own job, not by the list.",
    8: "Lemma 2. The time before a task's start consists of full times, at which all GPUs work on earlier tasks of the list, pieces of a path of tasks each of which waits for the one before, "
    "and the release date where the path begins.",
    9: "In full times every GPU works, so their length is limited by the work in the list before the task, less what the path itself does.",
    10: "A piece of a path task is at most alpha_c times the corresponding part of q + sigma: the GPU it got may be slower than its best one, by no more than alpha_c.",
    11: "Lemma 4. The LP knows chains, too: the midpoint of a task is at least the length of the path before it. Where a later round is shorter, half of the difference is lost; e measures that.",
    12: "Lemma 3. The load inequality for the list up to a task bounds the work before it by the midpoint; tasks of the path that have small midpoints make it stronger.",
    13: "(P). Adding up: start <= work / W + release date + alpha_c x path.",
    14: "(Psi). Replacing work and path by what the LP knows about them: start <= Psi x midpoint, where Psi is the worst mix of both.",
    15: "Theorem 2. From starts to completion times, job by job, and then to the objective: list value <= K x LP.",
    16: "The same in terms of alpha and the number of GPUs alone: alpha Phi_e(M), and 3 alpha where e = 1. Claimed only where every task may run on every GPU and alpha is finite.",
    17: "The ratios that are reported are consistent: no schedule is below the lower bound, and the measured ratio is within K.",
}
"""What each step says and why it is true."""


def paragraph(
    number: int, name: str, ok: bool, left: int | str | None, right: int | str | None, where: str, checked: int
) -> str:
    """One step in words with its numbers."""
    verdict = "holds" if ok else "DOES NOT HOLD"
    head = f"Step {number}, {name}: {verdict} ({checked} checked)."
    if left is None or right is None:
        detail = f"{where}." if where else ""
    else:
        detail = f"{'Least room' if ok else 'Broken'}: {_number(left)} against {_number(right)} in {where}."
    return f"{head}\n{MEANING[number]}\n{detail}".rstrip()


def _number(value: int | str) -> str:
    text = str(value)
    if len(text) <= 24:
        return text
    top, _, bottom = text.partition("/")
    return f"about {int(top) / int(bottom or '1'):.9g}"

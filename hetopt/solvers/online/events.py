"""The event queue of the simulators: integer time, documented ties, deterministic.

Events are ordered by (time, kind, sequence): at one time, kinds act in the order of
:class:`EventKind`; events of one kind act in the order in which they were added.
"""

from __future__ import annotations

import heapq
from enum import IntEnum
from typing import Generic, TypeVar

__all__ = ["EventKind", "EventQueue"]

T = TypeVar("T")


class EventKind(IntEnum):
    """Kinds of events; at equal times the smaller number acts first.

    Ends come before releases, so that GPUs freed at t are free for what arrives at t; decisions come last,
    when everything that happens at t is known.
    """

    TRAIN_END = 0
    SYNC_END = 1
    ROUND_END = 2
    JOB_END = 3
    RELEASE = 4
    BORDER = 5
    DECIDE = 6


class EventQueue(Generic[T]):
    """A heap of (time, kind, sequence, payload)."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, T]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, time: int, kind: EventKind, payload: T) -> None:
        """Add an event."""
        heapq.heappush(self._heap, (time, int(kind), self._sequence, payload))
        self._sequence += 1

    def pop(self) -> tuple[int, EventKind, T]:
        """Remove and return the next event."""
        time, kind, _, payload = heapq.heappop(self._heap)
        return time, EventKind(kind), payload

    @property
    def next_time(self) -> int | None:
        """Time of the next event, or None."""
        return self._heap[0][0] if self._heap else None

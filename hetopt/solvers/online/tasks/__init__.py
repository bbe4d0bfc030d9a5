"""The task-level simulator (``engine``), what policies see (``view``), and the policies (``policies``)."""

from __future__ import annotations

from hetopt.solvers.online.tasks.engine import TaskProgress, simulate_tasks
from hetopt.solvers.online.tasks.outcome import TaskRun
from hetopt.solvers.online.tasks.setting import GangHold, GangTypes, TaskSetting
from hetopt.solvers.online.tasks.view import Agent, ClusterView, JobView, Start, TaskPolicy

__all__ = [
    "Agent",
    "ClusterView",
    "GangHold",
    "GangTypes",
    "JobView",
    "Start",
    "TaskPolicy",
    "TaskProgress",
    "TaskRun",
    "TaskSetting",
    "simulate_tasks",
]

"""Make the golden LP and MPS files of the root folder ``models`` anew: ``python -m hetopt.models.golden FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hetopt.core.documents import write_text
from hetopt.core.errors import HetoptError
from hetopt.core.instance import Instance
from hetopt.core.round_problem import RoundProblem
from hetopt.core.round_solver import WorkConservation
from hetopt.core.status import Objective
from hetopt.models.export import MODELS, ROUND_MODELS, render, render_round

__all__ = ["golden_files", "main", "round_files"]

SHORT: Final = {
    Objective.TOTAL_WEIGHTED_COMPLETION: "completion",
    Objective.TOTAL_WEIGHTED_FLOW: "flow",
    Objective.MAKESPAN: "makespan",
}


def golden_files(instance: Instance) -> Iterator[tuple[str, str]]:
    """File name and text of every golden file of an instance."""
    for model in MODELS:
        for objective, short in SHORT.items():
            for format in ("lp", "mps"):
                yield f"{model}-{short}.{format}", render(instance, model, format, objective).text


def round_files(problem: RoundProblem) -> Iterator[tuple[str, str]]:
    """The same of an FFT round in which min(GPUs, demand) GPUs can be used, so that U* needs no optimisation."""
    usable = sum(job.demand for j, job in enumerate(problem.jobs) if j not in problem.waiting)
    most = min(sum(gpu.count for gpu in problem.gpu_types), usable)
    for model in ROUND_MODELS:
        for rule in WorkConservation:
            for format in ("lp", "mps"):
                text = render_round(problem, model, format, rule=rule, most_gpus=most).text
                yield f"{model}-{rule}.{format}", text


def main(arguments: list[str]) -> int:
    """Write the files beside ``FOLDER/instance.json`` and ``FOLDER/round.json``; returns the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m hetopt.models.golden FOLDER\n")
        return 2
    folder = Path(arguments[0])
    try:
        for name, text in golden_files(Instance.load(folder / "instance.json")):
            write_text(folder / name, text)
        for name, text in round_files(RoundProblem.load(folder / "round.json")):
            write_text(folder / name, text)
    except HetoptError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

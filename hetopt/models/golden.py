"""Make the golden LP and MPS files of the root folder ``models`` anew: ``python -m hetopt.models.golden FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hetopt.core.documents import write_text
from hetopt.core.errors import HetoptError
from hetopt.core.instance import Instance
from hetopt.core.status import Objective
from hetopt.models.export import MODELS, render

__all__ = ["golden_files", "main"]

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


def main(arguments: list[str]) -> int:
    """Write the files beside ``FOLDER/instance.json``; returns the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m hetopt.models.golden FOLDER\n")
        return 2
    folder = Path(arguments[0])
    try:
        for name, text in golden_files(Instance.load(folder / "instance.json")):
            write_text(folder / name, text)
    except HetoptError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

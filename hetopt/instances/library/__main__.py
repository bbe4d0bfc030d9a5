"""``python -m hetopt.instances.library``: list the library, or write its index afresh (from a checkout)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hetopt.core.errors import HetoptError
from hetopt.instances.library.index import FOLDER, INDEX_FILE, Index
from hetopt.instances.library.refresh import as_csv, refreshed, save_published, write_all

TABLES = FOLDER.parents[2] / "instances"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m hetopt.instances.library", description=__doc__)
    parser.add_argument("--write-index", action="store_true", help="take the computed fields from the files again")
    parser.add_argument("--tables", type=Path, default=TABLES, help="where index.md and index.csv go (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        if options.write_index:
            save_published()
            write_all(refreshed(Index.load(INDEX_FILE)), options.tables)
        else:
            sys.stdout.write(as_csv(Index.load(INDEX_FILE)))
    except HetoptError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

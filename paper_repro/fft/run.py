"""Reproduce the claims of fft: ``python paper_repro/fft/run.py [--quick]``; the same as ``hetopt reproduce fft``."""

from __future__ import annotations

import argparse
from pathlib import Path

import hetopt

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run, print a verdict a claim, store the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small runs")
    parser.add_argument(
        "--out", type=Path, default=Path("out/repro"), help="folder of the records; a second call resumes"
    )
    options = parser.parse_args()
    results = hetopt.reproduce(HERE, options.out, quick=options.quick)
    for name, claim in results.claims.items():
        print(f"{name}: {claim['verdict']}. {claim['why']}")
    results.save(options.out / HERE.name / f"{results.mode}.json")


if __name__ == "__main__":
    main()

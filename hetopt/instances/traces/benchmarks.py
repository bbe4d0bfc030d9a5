"""Tables of measurements without jobs: iteration times of CNNs, and data sheets of GPUs.

* pytorch-gpu-benchmark: one file a (GPU, number of GPUs, precision), a column a torchvision model, a row a timed iteration, in
  milliseconds; 12 images per GPU.  Columns differ in order between files and are joined by name; medians are used, as
  first iterations may still warm up.
* data sheets (``device, mem, mem_type, mem_bw, num_sm, double, single, half``): an empty field is unknown, never 0.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hetopt.core.errors import Fault, InputError
from hetopt.instances.traces.rows import Row, read_table

__all__ = [
    "IMAGES_PER_GPU",
    "DataSheet",
    "IterationTimes",
    "load_data_sheets",
    "load_iteration_times",
    "throughput_table",
]

IMAGES_PER_GPU: Final = 12
_NAME: Final = re.compile(r"(?P<gpu>.+)_(?P<count>[1-9][0-9]*)gpu_(?P<precision>float|half)\.csv")


@dataclass(frozen=True)
class IterationTimes:
    """Iteration times in seconds of one GPU type, number of GPUs and precision, by model."""

    gpu: str
    gpus: int
    precision: str
    times: Mapping[str, tuple[float, ...]]

    def median(self, model: str) -> float:
        """Median time of an iteration, seconds."""
        return statistics.median(self.times[model])

    def rate(self, model: str) -> float:
        """Images per second over all its GPUs."""
        return IMAGES_PER_GPU * self.gpus / self.median(model)

    def spread(self, model: str) -> float:
        """Standard deviation of the logarithm of the times without the first one: the noise of a task's time."""
        import math

        logs = [math.log(t) for t in self.times[model][1:]]
        return statistics.pstdev(logs) if logs else 0.0


def load_iteration_times(path: str | os.PathLike[str]) -> IterationTimes:
    """Read one file ``GPU_Ngpu_PRECISION.csv``.

    Raises
    ------
    InputError
        Another file name, bad rows, no row.
    """
    match = _NAME.fullmatch(Path(path).name)
    if match is None:
        rule = "the name of a file reads GPU_Ngpu_float.csv or GPU_Ngpu_half.csv"
        raise InputError(Fault("", Path(path).name, rule, "rename the file", str(path)))
    table = read_table(path, ())
    faults: list[Fault] = []
    times: dict[str, list[float]] = {model: [] for model in table.columns}
    for row in table.rows:
        for model in table.columns:
            times[model].append(row.number(model, above=0) / 1000)
        faults += [Fault(f.where, f.found, f.rule, f.remedy, table.source) for f in row.faults]
    if faults or not table.rows or not table.columns:
        empty = Fault("", "no sample", "a column a model and a row an iteration", "give another file", table.source)
        raise InputError(faults or [empty])
    return IterationTimes(
        match["gpu"], int(match["count"]), match["precision"], {m: tuple(values) for m, values in times.items()}
    )


def throughput_table(files: list[IterationTimes]) -> dict[str, dict[str, float]]:
    """Images per second by model and GPU type, of the models that every file has.

    Raises
    ------
    InputError
        Files of different numbers of GPUs or precisions, or two of one type.
    """
    kinds = {(f.gpus, f.precision) for f in files}
    names = [f.gpu for f in files]
    if len(kinds) != 1 or len(set(names)) != len(names):
        rule = "a table is of one number of GPUs and one precision, one file a GPU type"
        found = ", ".join(f"{f.gpu} ({f.gpus}, {f.precision})" for f in files) or "no file"
        raise InputError(Fault("", found, rule, "choose the files"))
    common = sorted(set.intersection(*(set(f.times) for f in files)))
    return {model: {f.gpu: f.rate(model) for f in files} for model in common}


@dataclass(frozen=True)
class DataSheet:
    """Published figures of a GPU: GB, GB/s, multiprocessors, TFLOP/s; None: unknown."""

    device: str
    memory: float
    bandwidth: float
    multiprocessors: int
    double: float | None
    single: float | None
    half: float | None


def load_data_sheets(path: str | os.PathLike[str]) -> tuple[DataSheet, ...]:
    """Read a table of data sheets.

    Raises
    ------
    InputError
        Bad rows, a device twice.
    """
    table = read_table(path, ("device", "mem", "mem_bw", "num_sm", "double", "single", "half"))
    faults: list[Fault] = []
    out: list[DataSheet] = []

    def known(row: Row, key: str) -> float | None:
        return row.number(key, above=0) if row.text(key) else None

    for row in table.rows:
        name = row.text("device")
        if not name or any(sheet.device == name for sheet in out):
            row.refuse("device", name, "a device is text and listed once")
        sheet = DataSheet(
            device=name,
            memory=row.number("mem", above=0),
            bandwidth=row.number("mem_bw", above=0),
            multiprocessors=row.whole("num_sm", 1),
            double=known(row, "double"),
            single=known(row, "single"),
            half=known(row, "half"),
        )
        faults += [Fault(f.where, f.found, f.rule, f.remedy, table.source) for f in row.faults]
        out.append(sheet)
    if faults or not out:
        raise InputError(faults or [Fault("", "no row", "at least one device", "give another file", table.source)])
    return tuple(out)

"""Random generators, built from one seed by name; nothing touches a global state."""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["generator"]


def generator(seed: int, *names: str) -> np.random.Generator:
    """An independent generator for each (seed, names); the same everywhere and for ever.

    Parameters
    ----------
    seed
        Any whole number.
    names
        What the stream is for, for example ``("generate", "release")``.
    """
    words = hashlib.sha256("\x1f".join((str(seed), *names)).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(words, "big")))

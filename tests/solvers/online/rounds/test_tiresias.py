"""Gittins indices against their definition, sample by sample."""

from __future__ import annotations

import numpy as np
import pytest

from hetopt.core.errors import UsageError
from hetopt.core.seeds import generator
from hetopt.solvers.online.rounds.policies.tiresias import GittinsVariant, TiresiasGittins, TiresiasLas, gittins_index


@pytest.mark.parametrize("seed", range(5))
def test_textbook_index_is_its_definition(seed):
    draw = generator(seed, "gittins")
    sizes, quantum = draw.integers(1, 40, 25).astype(float), float(draw.integers(1, 15))
    attained = np.concatenate([[0.0], draw.integers(0, 45, 12).astype(float), sizes[:3]])
    index = gittins_index(attained, sizes, quantum)
    for a, value in zip(attained, index, strict=True):
        larger = sizes[sizes > a]
        if not len(larger):
            assert value == 0
            continue
        ending = np.mean(larger <= a + quantum)
        assert value == pytest.approx(ending / np.mean(np.minimum(larger - a, quantum)))


def test_the_variant_of_the_simulator_uses_whole_sizes():
    sizes = np.array([10.0, 20.0, 30.0, 40.0])
    # a = 5, quantum 10: one of four ends; min(S, 15) is 10, 15, 15, 15
    found = gittins_index(np.array([5.0, 35.0, 25.0]), sizes, 10.0, GittinsVariant.SIMULATOR)
    assert found.tolist() == [round(1e6 * 1 / 55), 0.0, round(1e6 * 1 / (30 + 35))]
    textbook = gittins_index(np.array([5.0]), sizes, 10.0)
    assert textbook[0] == pytest.approx(1 / (5 + 10 + 10 + 10))


@pytest.mark.parametrize(
    ("cls", "options", "words"),
    [
        (TiresiasLas, {"thresholds": (5.0, 5.0)}, "rising"),
        (TiresiasLas, {"starvation": -1.0}, "starvation"),
        (TiresiasGittins, {"quantum": 0.0}, "quantum"),
        (TiresiasGittins, {"variant": "other"}, "textbook"),
    ],
)
def test_wrong_parameters_are_named(cls, options, words):
    with pytest.raises(UsageError, match=words):
        cls(**options)

"""Heuristics of clairvoyant scheduling: list scheduling, event-driven rules, local search."""

"""Relaxations: lower bounds with evidence, and what else falls out of them (midpoints, prices, exclusions)."""

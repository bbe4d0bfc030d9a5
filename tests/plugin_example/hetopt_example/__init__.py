"""Solvers of a third party, added to hetopt by entry points."""

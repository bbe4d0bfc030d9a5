"""Exact solvers of clairvoyant scheduling, and the portfolio over them."""

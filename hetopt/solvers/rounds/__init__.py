"""Solvers of FFT's per-round cost problem."""

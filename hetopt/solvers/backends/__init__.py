"""Native solvers behind one table each: outcome, limits, interrupts, silence."""

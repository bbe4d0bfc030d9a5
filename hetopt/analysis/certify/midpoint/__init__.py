"""Exact checks of the midpoint bound on one instance, task by task.

The pieces, in the order in which they are used: :mod:`~hetopt.analysis.certify.midpoint.tasks`
(data), ``constants`` (alpha, W, Phi, Psi, K), ``points`` (feasible points of the LP and its lower
bounds), ``lists`` (the three placement rules), ``decomposition`` (Lemmas 1 and 2), ``steps`` (the
seventeen checks).  Everything is integer or rational arithmetic.
"""

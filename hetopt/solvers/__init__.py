"""Solvers: the catalogue of names, the ``run`` wrapper, backends, and the algorithms themselves.

Importing this package imports no solver library.
"""

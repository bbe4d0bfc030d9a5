"""Cutting planes: families of valid inequalities and their separation."""

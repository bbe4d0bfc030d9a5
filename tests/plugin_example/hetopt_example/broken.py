"""Fails while it is imported."""

raise RuntimeError("this plug-in is broken")

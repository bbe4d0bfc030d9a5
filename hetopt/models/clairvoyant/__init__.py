"""Formulations of clairvoyant scheduling (document ``hetopt/clairvoyant``)."""

"""Formulations: build, encode, decode; nothing is solved here."""

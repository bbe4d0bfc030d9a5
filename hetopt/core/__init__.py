"""The vocabulary of hetopt: documents, objectives, the feasibility checker, results, the registry.

Needs the standard library, numpy and pydantic only, and imports nothing else of hetopt.
"""

"""The command line: one module per command; ``main`` turns whatever happens into one exit code.

Importing this loads typer and nothing heavier; each command imports what it needs when it runs.
"""

from hetopt.cli._main import main

__all__ = ["main"]

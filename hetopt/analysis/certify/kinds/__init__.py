"""One module a kind of certificate; each is a function ``prove(problem, data) -> Proved``."""

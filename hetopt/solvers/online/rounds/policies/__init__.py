"""Round-based policies, one module each; each is a pure function of (state, memory)."""

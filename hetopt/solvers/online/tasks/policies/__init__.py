"""Task-level policies, one family a module."""

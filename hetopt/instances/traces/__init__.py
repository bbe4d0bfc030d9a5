"""Loaders of public trace formats, one module a format; each returns a workload, which becomes an instance here."""

from hetopt.instances.traces.convert import workload_to_instance
from hetopt.instances.traces.gavel import load_gavel, load_gavel_workload

__all__ = ["load_gavel", "load_gavel_workload", "workload_to_instance"]

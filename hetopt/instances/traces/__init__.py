"""Loaders of public trace formats, one module a format; each returns a workload, which becomes an instance here."""

from hetopt.instances.traces.alibaba import load_alibaba_nodes, load_alibaba_workload, load_worker_times
from hetopt.instances.traces.benchmarks import load_data_sheets, load_iteration_times, throughput_table
from hetopt.instances.traces.convert import workload_to_instance
from hetopt.instances.traces.detect import TraceFormat, detect_format, load_workload
from hetopt.instances.traces.fjsplib import load_best_known, load_fjsplib
from hetopt.instances.traces.gavel import load_gavel, load_gavel_workload
from hetopt.instances.traces.philly import load_philly_workload
from hetopt.instances.traces.pollux import load_pollux_workload, load_profile
from hetopt.instances.traces.shockwave import load_shockwave_workload
from hetopt.instances.traces.tiresias import load_service_samples, load_tiresias_cluster, load_tiresias_workload

__all__ = [
    "TraceFormat",
    "detect_format",
    "load_alibaba_nodes",
    "load_alibaba_workload",
    "load_best_known",
    "load_data_sheets",
    "load_fjsplib",
    "load_gavel",
    "load_gavel_workload",
    "load_iteration_times",
    "load_philly_workload",
    "load_pollux_workload",
    "load_profile",
    "load_service_samples",
    "load_shockwave_workload",
    "load_tiresias_cluster",
    "load_tiresias_workload",
    "load_worker_times",
    "load_workload",
    "throughput_table",
    "workload_to_instance",
]

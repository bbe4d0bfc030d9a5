"""hetopt: optimisation of deep-learning training schedules on heterogeneous GPU clusters."""

__version__ = "0.1.0"

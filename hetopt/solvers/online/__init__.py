"""Online scheduling: the event queue, the simulators, and the policies."""

"""A simulated fleet: real cache dynamics, real exposition text, switchable faults; no GPU, no cluster."""

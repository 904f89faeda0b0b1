"""The L2 injector: an admission webhook that wires engines to L2, where that can't hurt."""

"""The shared pool and its use as L2: who may use it, whose KV lies where, its members and its room; pure."""

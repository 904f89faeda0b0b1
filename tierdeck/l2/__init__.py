"""The shared pool and its use as L2: who may, whose KV lies where, its members, its room and what goes; pure."""

"""The shared pool: its workers, its mounts, and what can be told of its room; pure."""

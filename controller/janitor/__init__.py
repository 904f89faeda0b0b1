"""The janitor: makes room in a pool that makes none by itself, by deleting what was used longest ago."""

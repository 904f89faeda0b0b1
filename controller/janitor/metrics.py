"""What the janitor tells of itself."""

from prometheus_client import Counter, Gauge

ROUNDS = Counter("tierdeck_janitor_rounds", "Rounds that ended, by how.", ["outcome"])
DELETED_FILES = Counter("tierdeck_janitor_deleted_files", "Files deleted.")
DELETED_BYTES = Counter("tierdeck_janitor_deleted_bytes", "Bytes of the files deleted.")
USED_RATIO = Gauge("tierdeck_janitor_pool_used_ratio", "Share of the pool's capacity in use, as it was seen last.")
PACE = Gauge(
    "tierdeck_janitor_pool_write_bytes_per_second", "Bytes written a second, as far as use and deletions tell."
)
FILES = Gauge("tierdeck_janitor_pool_files", "Files found in the last round.")
WALK_SECONDS = Gauge("tierdeck_janitor_walk_seconds", "How long the last round took to look at every file.")
IS_DRY = Gauge("tierdeck_janitor_dry", "1 where nothing is deleted.")
HOLDS = Gauge("tierdeck_janitor_holds_lease", "1 where this process is the pool's janitor.")

"""What the controller tells of itself."""

from prometheus_client import Counter, Gauge

ENDPOINTS = Gauge("tierdeck_controller_endpoints", "Endpoints found in the cluster.")
EVENTS = Counter("tierdeck_controller_events", "Events written.")
LOOKS = Counter("tierdeck_controller_looks", "Looks at the cluster's objects.")
CHANGES = Counter("tierdeck_controller_changes", "Changes that came to an end, by how.", ["state"])

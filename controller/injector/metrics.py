"""What the injector tells of itself."""

from prometheus_client import Counter, Gauge

REVIEWS = Counter("tierdeck_injector_reviews", "Pods that were looked at, by what became of them.", ("outcome",))
CERTIFICATE_ENDS = Gauge(
    "tierdeck_injector_certificate_end_seconds", "When the certificate that is served ends, in epoch seconds."
)

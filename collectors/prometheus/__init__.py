"""The fleet as a Prometheus-compatible server knows it: what is asked, and how answers become rounds."""

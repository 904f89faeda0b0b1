"""A Prometheus that is there already as the source: Prometheus itself, Thanos, Mimir, VictoriaMetrics, Amazon's."""

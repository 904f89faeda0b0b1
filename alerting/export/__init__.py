"""Rules, routes and boards for those who live in Prometheus, Alertmanager and Grafana."""

"""Changes through the Kubernetes API: applied as `tierdeck`, previewed by dry run, read back from the pods."""

"""The Kubernetes API as the inventory needs it: read by list and watch, with errors that say what to do."""

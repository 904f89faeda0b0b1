"""The alerting process: will judge rules over the store, find causes, notify and export rules."""

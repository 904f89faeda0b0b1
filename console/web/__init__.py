"""The web console: `python -m console.web`."""

"""The `tierdeck` command."""

from console.cli.app import main

__all__ = ["main"]

"""Tests of controller.changes.preflight."""

"""Edits of a container as an API object states it: arguments, variables, memory. Pure; the rest stays as it is."""

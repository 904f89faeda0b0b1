"""Proving a routing strategy by its behaviour: crafted requests through the router, and where they land."""

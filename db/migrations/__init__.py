"""The schema's history; `db.upgrade` runs it."""

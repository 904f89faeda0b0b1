"""One file per revision; the newest is also the last of `db.schema.REVISIONS`."""

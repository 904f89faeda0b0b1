"""The store: the one seam between processes, and the only user of SQLAlchemy and Alembic."""

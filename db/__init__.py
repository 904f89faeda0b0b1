"""The store: the one seam between processes, and the only user of SQLAlchemy and Alembic."""

from db.alert_store import JUDGING
from db.records import OTHER_SALTS, BlindPart, EndpointAccounts, PoolNow, Sighted
from db.store import Store

__all__ = ["JUDGING", "OTHER_SALTS", "BlindPart", "EndpointAccounts", "PoolNow", "Sighted", "Store"]

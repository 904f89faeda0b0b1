"""What each process may do in a PostgreSQL store: only console and controller write changes, and nobody unwrites them.

A process that is taken over can then not make the controller change a deployment: rows of `changes` are power.
"""

from __future__ import annotations

from collections.abc import Iterator

from db.change_schema import change_steps, changes, proofs
from db.schema import audit, metadata

PROCESSES = ("collectors", "alerting", "console", "controller", "injector", "janitor")
_CHANGING = ("console", "controller")
_PRUNING = ("collectors",)
_POWER = tuple(table.name for table in (changes, change_steps, proofs))
_VERSION = "alembic_version"


def grants(prefix: str, schema: str = "public") -> str:
    """SQL for the store's owner, after each upgrade of the store; running it again changes nothing.

    Args:
        prefix: of the roles' names: with `tierdeck`, collectors are members of `tierdeck_collectors`.
    """
    return "\n".join(_statements(prefix, schema)) + "\n"


def _statements(prefix: str, schema: str) -> Iterator[str]:
    roles = {process: f'"{prefix}_{process}"' for process in PROCESSES}
    every = ", ".join(roles.values())
    changing = ", ".join(roles[process] for process in _CHANGING)
    pruning = ", ".join(roles[process] for process in _PRUNING)
    usual = sorted(metadata.tables.keys() - {*_POWER, audit.name})
    for role in roles.values():
        yield f"DO $$ BEGIN CREATE ROLE {role} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
    yield f"GRANT USAGE ON SCHEMA {schema} TO {every};"
    yield f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {every};"
    yield f"GRANT SELECT ON {_of(schema, *metadata.tables, _VERSION)} TO {every};"
    yield f"GRANT INSERT, UPDATE, DELETE ON {_of(schema, *usual)} TO {every};"
    yield f"GRANT INSERT ON {_of(schema, audit.name)} TO {every};"
    yield f"GRANT INSERT, UPDATE ON {_of(schema, *_POWER)} TO {changing};"
    yield f"GRANT DELETE ON {_of(schema, proofs.name)} TO {pruning};"
    yield f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {every};"


def _of(schema: str, *tables: str) -> str:
    return ", ".join(f"{schema}.{name}" for name in sorted(tables))

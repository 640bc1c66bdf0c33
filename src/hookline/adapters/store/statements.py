"""The statements and migrations that every store has in common, and what runs them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from hookline.errors import BadInput, HooklineError, StoreCorrupt

SCHEMA_VERSION = 12
# The schema of the version before: its processes still work with this one on a server, because what
# came since only adds tables. A migration that does more raises this number: then they refuse it.
COMPATIBLE_SCHEMA = 8
_FOLDER = os.path.dirname(__file__)
_MIGRATIONS = os.path.join(_FOLDER, "migrations")


class StatementRows(Protocol):
    """What a statement found or did."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    @property
    def lastrowid(self) -> int | None:
        """The key of the row that it inserted."""

    @property
    def description(self) -> Any:
        """The columns, each with its name in front."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any:
        """The next row, if any."""

    def fetchmany(self, size: int) -> list[Any]:
        """So many rows, or those that are left."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""


class StatementRunner(Protocol):
    """What runs statements."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> StatementRows:
        """Run a statement."""


def load(name: str) -> dict[str, str]:
    """The named blocks of a .sql file of this folder."""
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        blocks = file.read().split("-- name: ")[1:]
    found = {}
    for block in blocks:
        title, _, rest = block.partition("\n")
        found[title] = "\n".join(line for line in rest.splitlines() if not line.startswith("--"))
    return found


SQL = load("queries.sql")


class Table:
    """Rows that are read and written in one connection."""

    def __init__(self, connection: StatementRunner) -> None:
        self._run = connection.execute


def migration(number: int) -> str:
    """The text of a migration."""
    (name,) = (n for n in os.listdir(_MIGRATIONS) if n.startswith(f"{number:04d}_"))
    with open(os.path.join(_MIGRATIONS, name), encoding="utf-8") as file:
        return file.read()


def unusable(problem: Exception, place: str) -> HooklineError:
    """Why something cannot be stored, or what is stored cannot be read."""
    if isinstance(problem, UnicodeEncodeError):
        return BadInput(f"{problem.object[:80]!r} is not text")
    return StoreCorrupt(f"{place} has an unreadable row: {problem}")

"""Every row of a project from one store into another, whichever databases they are in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookline.adapters.store.statements import SCHEMA_VERSION, migration
from hookline.adapters.store.store import View
from hookline.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.adapters.store.statements import StatementRunner
    from hookline.adapters.store.store import TableStore

_TABLE = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)
# A new store has these rows, which are replaced.
_FILLED = ("counters", "meta")
_PAGE = 1000


def copy_rows(
    source: TableStore, target: TableStore, verify: Callable[[View], None]
) -> dict[str, int]:
    """Copy everything that the tables hold, or nothing; how many rows each of them has.

    `verify` sees the copy before it is stored, and raises an error if it is not what it should be.
    """
    with source.rows() as old, target.rows(writing=True) as new:
        if new.execute("SELECT seq FROM counters").fetchone() != (0,):
            raise BadInput(
                "the store that was to be written is not empty: nothing was changed",
                help="name another project, or move the file away",
            )
        for table in _FILLED:
            new.execute(f"DELETE FROM {table}")  # noqa: S608  # ours
        copied = {table: _copy(table, old, new) for table in _tables()}
        verify(View(new, source.id))
    target.id = source.id
    return copied


def _tables() -> list[str]:
    scripts = (migration(number) for number in range(1, SCHEMA_VERSION + 1))
    return [name for script in scripts for name in _TABLE.findall(script)]


def _copy(table: str, old: StatementRunner, new: StatementRunner) -> int:
    found = old.execute(f"SELECT * FROM {table}")  # noqa: S608  # ours
    names = [column[0] for column in found.description]
    marks = ", ".join("?" * len(names))
    insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608  # ours
    count = 0
    while rows := found.fetchmany(_PAGE):
        count += len(rows)
        for row in rows:
            new.execute(insert, row)
    return count

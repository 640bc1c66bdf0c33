"""Functions that keep the plans of the statements that changes run most.

To plan a statement takes a server longer than to run it, and a pooler would lose what is prepared.
The plans of a function are kept for as long as a connection of the server lasts, whoever's
transaction comes next. Each function is one statement of the store as it is, and is named after all
of them: a version of Hookline whose statements differ does not find those of another one.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from hookline.adapters.store.graph import update_of_task
from hookline.adapters.store.postgres import dialect
from hookline.adapters.store.postgres.dialect import literal, numbered
from hookline.adapters.store.statements import SCHEMA_VERSION, SQL
from hookline.digest import sha256
from hookline.domain.projection import changed_together
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_NAMED = (
    *("switches", "task", "unmet_of", "waits_for_task", "append_event", "set_counters"),
    *("insert_task", "add_edge", "set_lease", "settle_dependents", "shift_unmet"),
    *("open_dispatch", "first_dispatch", "take_dispatch", "holds_dispatch", "close_dispatch"),
    *("freeze_payload", "payload", "add_delivery", "start_delivery", "finish_delivery"),
    *("add_action", "open_actions", "finish_action"),
)
_TYPES = {20: "bigint", 23: "integer", 25: "text", 701: "float8"}
_FINDING = re.compile(r"^SELECT\b|\bRETURNING\b")
_MADE = "CREATE OR REPLACE FUNCTION hookline.{name}({given}) "
_FINDS = "RETURNS TABLE ({found}) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY {text}; END $$"
_COUNTS = (
    "RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE changed bigint;"
    " BEGIN {text}; GET DIAGNOSTICS changed = ROW_COUNT; RETURN changed; END $$"
)


class Function(Immutable):
    """A function that runs a statement."""

    name: bytes
    sql: str

    @property
    def finds(self) -> bool:
        """Whether it finds rows; else it says how many it has changed."""
        return _finds(self.sql)

    def call(self, values: Sequence[object], quote: Callable[[bytes], bytes]) -> bytes:
        """The statement, with its values."""
        given = b",".join([literal(each, quote) for each in values])
        way = b"SELECT * FROM hookline.%b(%b)" if self.finds else b"SELECT hookline.%b(%b)"
        return way % (self.name, given)


@cache
def _finds(sql: str) -> bool:
    return _FINDING.search(numbered(sql)) is not None


@cache
def functions() -> Mapping[str, Function]:
    """The functions of this version, by their statements."""
    named = {name: SQL[name] for name in _NAMED}
    updates = {update_of_task(columns): name for name, columns in changed_together().items()}
    named |= {name: sql for sql, name in updates.items()}
    with open(dialect.__file__, "rb") as file:  # how they are translated
        whole = sha256(file.read())
    for each in (str(SCHEMA_VERSION), _MADE, _FINDS, _COUNTS, *named.values()):
        whole.update(each.encode())
    version = whole.hexdigest()[:8]
    return {sql: Function(f"{name}_{version}".encode(), sql) for name, sql in named.items()}


def definitions(
    describe: Callable[[str], tuple[Sequence[int], Sequence[int]]],
) -> Iterator[str]:
    """The functions, made; `describe` knows the types of what a statement is given, and finds."""
    for each in functions().values():
        text = numbered(each.sql)
        given, found = ([_TYPES[kind] for kind in kinds] for kinds in describe(text))
        # The columns of its answer must not be called like those of a table.
        columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(found))
        yield (_MADE + (_FINDS if each.finds else _COUNTS)).format(
            name=each.name.decode(), given=", ".join(given), found=columns, text=text
        )

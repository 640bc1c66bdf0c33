"""The table of where the work on tasks is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline import typed
from hookline.adapters.store.statements import Table, load
from hookline.domain.tasks import task_id, task_number
from hookline.domain.work.places import WorkPlace

if TYPE_CHECKING:
    from hookline.adapters.store.statements import StatementRows

SQL = load("work_places.sql")


class WorkPlaceTable(Table):
    """Where the work on each task is."""

    def find(self, task: str) -> WorkPlace | None:
        row = self._run(SQL["find"], (task_number(task),)).fetchone()
        return typed.decode(row[0], WorkPlace) if row else None

    def set(self, task: str, place: WorkPlace) -> None:
        self._run(SQL["set"], (task_number(task), msgspec.json.encode(place).decode()))

    def remove(self, task: str) -> None:
        self._run(SQL["remove"], (task_number(task),))

    def all(self) -> dict[str, WorkPlace]:
        return _read(self._run(SQL["all"]))

    def over(self) -> dict[str, WorkPlace]:
        return _read(self._run(SQL["over"]))


def _read(rows: StatementRows) -> dict[str, WorkPlace]:
    return {task_id(n): typed.decode(text, WorkPlace) for n, text in rows}

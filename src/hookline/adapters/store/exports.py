"""The tables of how far telemetry was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.store.calls import delivery_of_row
from hookline.adapters.store.statements import Table, load
from hookline.domain.telemetry import ExportPosition

if TYPE_CHECKING:
    from collections.abc import Collection

    from hookline.domain.hooks.records import Delivery

SQL = load("exports.sql")


class ExportTables(Table):
    """How far each exporter has come, in one connection."""

    def all(self) -> list[ExportPosition]:
        names = ExportPosition.__struct_fields__
        rows = self._run(f"{SQL['all']} ORDER BY name")
        return [ExportPosition(**dict(zip(names, row, strict=True))) for row in rows]

    def find(self, name: str) -> ExportPosition | None:
        return next((each for each in self.all() if each.name == name), None)

    def begin(self, name: str, seq: int) -> None:
        (first,) = self._run(SQL["first_call_after"], (seq,)).fetchone()
        (last,) = self._run(SQL["last_call"]).fetchone()
        self._run(SQL["begin"], (name, seq, last if first is None else first - 1))
        self._run(SQL["forget_open"], (name,))

    def take(self, name: str, owner: str, token: int, until: float) -> None:
        self._run(SQL["take"], (owner, token, until, name))

    def let_go(self, name: str, token: int) -> None:
        self._run(SQL["let_go"], (name, token))

    def arrived(self, position: ExportPosition, sent: int, rejected: int, at: float) -> bool:
        places = (position.seq, position.delivery, sent, rejected, at)
        return self._run(SQL["arrived"], (*places, position.name, position.token)).rowcount == 1

    def failed(self, position: ExportPosition, error: str, next_try: float) -> None:
        self._run(SQL["failed"], (next_try, error, position.name, position.token))

    def leave_open(self, name: str, deliveries: Collection[int]) -> None:
        for each in deliveries:
            self._run(SQL["leave_open"], (name, each))

    def close(self, name: str, deliveries: Collection[int]) -> None:
        for each in deliveries:
            self._run(SQL["close_call"], (name, each))

    def open_calls(self, name: str) -> int:
        return int(self._run(SQL["count_open"], (name,)).fetchone()[0])

    def perhaps_over(self, name: str, after: int, limit: int) -> list[Delivery]:
        return [delivery_of_row(row) for row in self._run(SQL["over"], (name, after, limit))]

    def task_states(self) -> dict[str, int]:
        return dict(self._run(SQL["task_states"]).fetchall())

    def call_counts(self) -> list[tuple[str, str, str, str, int, int]]:
        return self._run(SQL["call_counts"]).fetchall()

    def calls_after(self, delivery: int, limit: int) -> list[Delivery]:
        return [delivery_of_row(row) for row in self._run(SQL["calls_after"], (delivery, limit))]

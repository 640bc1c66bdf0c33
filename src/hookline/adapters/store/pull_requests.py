"""The table of the local forge's pull requests, on a store that several machines share."""

from __future__ import annotations

from hookline.adapters.store.statements import Table, load

SQL = load("pull_requests.sql")


class PullRequestTable(Table):
    """Pull requests as the forge writes them."""

    def read(self, number: int) -> str | None:
        row = self._run(SQL["read"], (number,)).fetchone()
        return str(row[0]) if row else None

    def open_of(self, branch: str, base: str) -> str | None:
        row = self._run(SQL["open_of"], (branch, base)).fetchone()
        return str(row[0]) if row else None

    def last(self) -> int:
        return int(self._run(SQL["last"]).fetchone()[0])

    def write(self, number: int, branch: str, base: str, *, is_open: bool, record: str) -> None:
        self._run(SQL["write"], (number, branch, base, int(is_open), record))

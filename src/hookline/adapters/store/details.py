"""What is kept of finished work besides the log; `operations/store/pruning.py` removes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from hookline.adapters.store.statements import Table, load
from hookline.domain.hooks.records import Prunable
from hookline.domain.runs.model import RunOutline, run_id, run_number

SQL = load("details.sql")
_BLOB = re.compile(r"[0-9a-f]{64}")


class DetailTables(Table):
    """The details of calls and sessions in one connection."""

    def runs(self) -> Iterator[RunOutline]:
        for number, *facts in self._run(SQL["outlines"]):
            yield RunOutline(run_id(number), *facts)

    def prunable(self, after: int, until: int, limit: int) -> list[Prunable]:
        return [Prunable(*row) for row in self._run(SQL["prunable"], (after, until, limit))]

    def remove(self, event_seqs: Sequence[int]) -> None:
        places = _list(event_seqs)
        self._run(SQL["remove_payloads"], (places,))
        self._run(SQL["remove_output"], (places,))

    def of_run(self, identifier: str) -> int:
        return int(self._run(SQL["run_bytes"], (run_number(identifier),)).fetchone()[0])

    def remove_of_run(self, identifier: str, limit: int) -> bool:
        number = run_number(identifier)
        self._run(SQL["remove_delivered"], (number,))
        return self._run(SQL["remove_chapters"], (number, limit)).rowcount < limit

    def blobs_but_of(self, runs: Iterable[str], event_seqs: Sequence[int]) -> set[str]:
        numbers = _list([run_number(each) for each in runs])
        texts = self._run(SQL["texts_with_names"], (numbers, _list(event_seqs)))
        return {name for (text,) in texts for name in _BLOB.findall(text)}


def _list(numbers: Sequence[int]) -> str:
    return msgspec.json.encode(numbers).decode()

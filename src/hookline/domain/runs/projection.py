"""Runs and effects rebuilt from the journal alone, and held against the tables by `doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.runs import model as r
from hookline.domain.text.display import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from hookline.domain.events import Event

Columns = dict[str, Any]
EffectKey = tuple[str, int, str]


class RunFold:
    """Runs, their effects and their signals, from events in order."""

    def __init__(self) -> None:
        self.runs: dict[str, Columns] = {}
        self.effects: dict[EffectKey, Columns] = {}
        self.signals: dict[int, Columns] = {}

    def add_all(self, events: Iterable[Event]) -> RunFold:
        """Apply events in order."""
        for event in events:
            self.add(event)
        return self

    def add(self, event: Event) -> None:
        """Apply one event; types that are not of the journal change nothing."""
        if event.type == "run_started":
            self.runs[event.node_id] = _started(event)
            if by := event.data.get("calledBy"):
                caller = (by["runId"], by["chapter"], by["effectId"])
                self.effects[caller] |= {"called": r.run_number(event.node_id)}
        elif event.type == "effect_requested":
            self.effects[_key(event)] = _requested(event)
        elif event.type == "effect_resolved":
            self.effects[_key(event)] |= _resolved(event)
        elif event.type == "run_chapter":
            self.runs[event.node_id] |= _chapter(event)
        elif event.type == "run_signalled":
            self.signals[event.seq] = {
                "run": r.run_number(event.node_id),
                "name": event.data["name"],
                "value": event.data.get("value"),
            }
        elif event.type in r.ENDS or event.type in r.STATUS_AFTER:
            self.runs[event.node_id] |= _status(event)

    def is_past(self, key: Any, runs: Container[str]) -> bool:
        """Whether a row is that of an effect in a past chapter of one of these runs."""
        if not isinstance(key, tuple) or key[0] not in runs:
            return False
        return bool(key[1] < self.runs[key[0]]["chapter"])

    @property
    def tables(self) -> dict[str, Mapping[Any, Columns]]:
        """What each table must hold, by its key."""
        return {"runs": self.runs, "effects": self.effects, "run_signals": self.signals}


def differences(
    fold: RunFold, rows: Callable[[str], Iterable[Columns]], pruned: Container[str] = ()
) -> Iterator[str]:
    """Where the tables are not what folding the journal gives; `rows` reads one of them.

    Columns that the journal does not know are perishable, and nothing is said about them. Of runs
    that were pruned only the journal has the past chapters.
    """
    for table, said in fold.tables.items():
        seen = set()
        for row in rows(table):
            key = _KEYS[table](row)
            seen.add(key)
            if key in said:
                yield from _compare(_named(key), said[key], row)
            else:
                yield f"{_named(key)} is not in the log"
        lost = (key for key in said if key not in seen and not fold.is_past(key, pruned))
        yield from (f"{_named(key)} is missing" for key in lost)


_KEYS: dict[str, Callable[[Columns], Any]] = {
    "runs": lambda row: r.run_id(row["number"]),
    "effects": lambda row: (r.run_id(row["run"]), row["chapter"], row["effect_id"]),
    "run_signals": lambda row: row["seq"],
}


def _named(key: Any) -> str:
    if isinstance(key, tuple):
        return f"'{key[2]}' of {key[0]}"
    return key if isinstance(key, str) else f"the signal of event {key}"


def _compare(name: str, said: Columns, row: Columns) -> Iterator[str]:
    for column, value in said.items():
        if row[column] != value:
            seen, logged = (shortened(repr(each), 40) for each in (row[column], value))
            yield f"{column} of {name} is {seen}, the log says {logged}"


def _key(event: Event) -> EffectKey:
    return event.node_id, event.data["chapter"], event.data["effectId"]


def effects_of(events: Iterable[Event]) -> list[r.JournalEffect]:
    """The effects of one chapter from its events, in the order in which they were asked for."""
    journal = ("effect_requested", "effect_resolved")
    fold = RunFold().add_all(event for event in events if event.type in journal)
    return [
        r.JournalEffect(effect_id=key[2], **_PERISHED, **columns)
        for key, columns in fold.effects.items()
    ]


# What the journal does not know, of effects that are long over.
_PERISHED: Columns = {
    "attempts": 1,
    "next_try": None,
    "chosen": 0,
    **dict.fromkeys(("task", "child", "conversation")),
}


def _started(event: Event) -> Columns:
    data = event.data
    return {
        "flow": data["flow"],
        "status": r.RUNNING,
        "input": data["input"],
        "metadata": data["metadata"],
        "chapter": 1,
        "state": None,
        "reason": None,
        "value": None,
        "error": None,
        "code_digest": data.get("codeDigest", ""),
        "pins": {**data.get("pins", {}), "seq": event.seq},
        "created_at": event.timestamp,
    }


def _chapter(event: Event) -> Columns:
    return {
        "chapter": event.data["chapter"],
        "state": event.data["state"],
        "code_digest": event.data["codeDigest"],
        "pins": {**event.data.get("pins", {}), "seq": event.seq},
    }


def _status(event: Event) -> Columns:
    data = event.data
    if event.type in r.STATUS_AFTER:
        return {"status": r.STATUS_AFTER[event.type], "reason": data.get("reason")}
    return {
        "status": r.ENDS[event.type],
        "reason": None,
        "value": data.get("value"),
        "error": data.get("error") or data.get("reason"),
    }


def _requested(event: Event) -> Columns:
    names = ("step", "kind", "args", "digest", "metadata", "policy")
    return {
        **{name: event.data[name] for name in names},
        "status": r.PENDING,
        "requested_seq": event.seq,
        "requested_at": event.timestamp,
        "resolved_seq": None,
        "resolved_at": None,
        "value": None,
        "error": None,
        "called": None,
    }


def _resolved(event: Event) -> Columns:
    return {
        "status": event.data["status"],
        "value": event.data.get("value"),
        "error": event.data.get("error"),
        "resolved_seq": event.seq,
        "resolved_at": event.timestamp,
    }

"""What a chapter of a run, or an effect of older code, holds that is run: checks, tests, steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.text.display import untrusted
from hookline.flows.definitions.finder import STEPS
from hookline.pipeline.gated_work import PINS as GATES
from hookline.sessions.state import PINS as SESSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.runs.model import JournalEffect

_encode = msgspec.json.Encoder(order="deterministic").encode
_LONGEST = 80


def pinned_lines(pins: Mapping[str, Any]) -> dict[bytes, str]:
    """What a chapter keeps: each as it is run, and how it is told."""
    found = _checks(pins.get(SESSION, {}).get("rules", ()), pins.get(GATES, {}).get("test"))
    if steps := pins.get(STEPS):
        found[_encode(("steps", steps))] = "a step"
    return found


def lines_of(effect: JournalEffect) -> dict[bytes, str]:
    """What an effect of our own flows was asked with."""
    return _checks(effect.args.get("rules", ()), effect.args.get("test"))


def _checks(rules: Sequence[Mapping[str, Any]], test: str | None) -> dict[bytes, str]:
    found = {
        _encode((kind, line)): f"the rule {_shown(each.get('name'))}"
        for each in rules
        for kind in ("command", "python")
        if (line := each.get(kind)) is not None
    }
    if test is not None:
        found[_encode(("test", test))] = f"the test {_shown(test)}"
    return found


def _shown(text: object) -> str:
    return f"'{untrusted(str(text), _LONGEST)}'"

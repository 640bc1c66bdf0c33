"""Completion promises that an agent makes in its own text: `<promise>COMPLETE</promise>`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hookline.domain.payloads import CompletionPromise
from hookline.domain.text.markdown import own_words
from hookline.errors import BadInput

PROMISES = ("COMPLETE", "CONTINUE", "BLOCKED", "ESCALATE")

_NAME = r"\s*+(?P<name>[A-Z]++)\s*+"
_PROMISE = re.compile(rf"<promise\s*+>{_NAME}</promise\s*+>")
_WANTED = re.compile(rf"<promise\s*+>{_NAME}</promise\s*+>|\s*+(?P<bare>[A-Z]++)\s*+")


def find_promises(
    text: str, wanted: Sequence[str] = PROMISES, detected_at: str | None = None
) -> list[CompletionPromise]:
    """The promises of a text, each type once, in the order in which they first appear.

    A promise that the agent only quotes, as code or from someone else, is none.
    """
    types = {_type_of(each) for each in wanted}
    if "<promise" not in text:
        return []
    found: dict[str, CompletionPromise] = {}
    for promise in _PROMISE.finditer(own_words(text)):
        name: Any = promise["name"]
        if name in types and name not in found:
            found[name] = CompletionPromise(
                type=name,
                detected=True,
                content=f"<promise>{name}</promise>",
                detected_at=detected_at,
            )
    return list(found.values())


def without_promises(text: str) -> str:
    """What an agent said besides its promises."""
    return _PROMISE.sub("", text)


def _type_of(wanted: str) -> str:
    read = _WANTED.fullmatch(wanted)
    name = (read["name"] or read["bare"]) if read else ""
    if name not in PROMISES:
        shown = wanted if len(wanted) <= 80 else f"{wanted[:80]}…"
        raise BadInput(
            f"there is no promise {shown!r}", help=f"the promises are {', '.join(PROMISES)}"
        )
    return name

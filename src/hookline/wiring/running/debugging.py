"""What HOOKLINE_DEBUG shows: each hook that steers a run, with what it got and said."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from hookline.domain.text.display import json_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.domain.hooks.records import Outcome


def debugger(environ: Mapping[str, str]) -> Callable[[str, dict[str, Any], Outcome], None]:
    """What is told about each hook; it shows nothing unless that is wanted."""
    if not environ.get("HOOKLINE_DEBUG"):
        return lambda hook, payload, outcome: None

    def show(hook: str, payload: Mapping[str, Any], outcome: Outcome) -> None:
        told = {
            "hook": hook,
            "input": payload,
            "status": outcome.status,
            "output": outcome.answer,
            "error": outcome.error,
            "stderr": outcome.stderr,
        }
        print(f"[hookline] {json_line(told)}", file=sys.stderr, flush=True)

    return show

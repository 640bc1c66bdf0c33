"""The lanes of a worker: which agents each has, the preferred one first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errors import BadInput
from hookline.wiring.working.profiles import chosen_agent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.app import App


def lanes(
    app: App,
    count: int,
    wanted: Sequence[str],
    missing: Callable[[BadInput], None],
    usd: float | None = None,
) -> list[tuple[str, ...]]:
    """The agents of each lane, its preferred one first; `usd` is what all may spend.

    The usual agent works without those that types name and whose programs are `missing`.
    """
    named, usual = _named_by_types(app), app.sections.agent
    if usual is not None and not wanted:
        lane = [chosen_agent(app, usual, usd)]
        for name in named:
            try:
                lane += [chosen_agent(app, name, usd)] if name != usual else []
            except BadInput as problem:
                missing(problem)
        return [tuple(lane)] * count
    chosen: Sequence[str | None] = wanted or named or [None]
    ready = [chosen_agent(app, name, usd) for name in dict.fromkeys(chosen)]
    firsts = [place % len(ready) for place in range(max(count, len(wanted)))]
    return [(*ready[first:], *ready[:first]) for first in firsts]


def _named_by_types(app: App) -> list[str]:
    """The agents that task types name as implementers."""
    types = app.sections.task_types.values()
    return list(dict.fromkeys(name for each in types for name in each.agents.implementer))

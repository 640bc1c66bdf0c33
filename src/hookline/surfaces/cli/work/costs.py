"""How costs look on a terminal. Used by every command that tells what agents cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.text.terminal import one_line, padded, plural, thousands, took
from hookline.surfaces.cli.live.lines import money

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.sessions.spending import Cost, RoleCost, WholeCost

UNFINISHED = "unfinished: running or interrupted; its cost counts as far as the agent reported it"
ROLE_COLUMNS, WHO_COLUMNS = 12, 24


def cost_lines(cost: WholeCost) -> list[str]:
    """The whole cost, and a line for each role; nothing where no agent took a turn."""
    if not cost.turns:
        return []
    lines = [cost_text(cost), *role_lines(cost.roles)]
    return [*lines, UNFINISHED] if cost.unfinished else lines


def role_lines(costs: Iterable[RoleCost]) -> list[str]:
    """A line for each role and agent."""
    return [
        f"{padded(each.role, ROLE_COLUMNS)} {padded(who(each), WHO_COLUMNS)} {cost_text(each)}"
        for each in costs
    ]


def who(cost: RoleCost) -> str:
    """The agent of a role, and its model where the configuration names one."""
    return one_line(f"{cost.agent} ({cost.model})" if cost.model else cost.agent)


def cost_text(cost: Cost) -> str:
    """A cost in a few words: what was spent, and how long it took."""
    spent = spent_text(cost)
    turns = f"{plural(cost.turns, 'turn')}{unfinished_text(cost)}"
    return f"{f'{spent}, ' if spent else ''}{took(cost.seconds)} in {turns}"


def unfinished_text(cost: Cost) -> str:
    """How many of the turns may have used more than is known, behind their number."""
    return f" ({cost.unfinished} unfinished)" if cost.unfinished else ""


def computed_text(cost: Cost) -> str:
    """How much of the money no agent has reported, behind the sum."""
    if not cost.computed:
        return ""
    part = "" if cost.computed == cost.usd else f"{money(cost.computed)} "
    return f" ({part}computed from tokens)"


def spent_text(cost: Cost) -> str:
    """Money and tokens, as far as the agents tell them."""
    parts = [f"{money(cost.usd)}{computed_text(cost)}"] if cost.usd is not None else []
    if cost.tokens:
        parts.append(f"{thousands(cost.tokens)} tokens")
    return ", ".join(parts)

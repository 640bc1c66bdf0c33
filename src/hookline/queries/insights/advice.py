"""Rules of thumb: what a table suggests, in a sentence whose every figure is in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.tasks import shown_state
from hookline.queries.insights.types import Advice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hookline.domain.insights import InsightRows

    Row = Mapping[str, Any]

# With fewer tasks, submissions or results than these, nothing is advised.
FEW_TASKS, FEW_RESULTS = 5, 50
MANY_ITERATIONS = 5
# How much cheaper an agent is before it is named.
CHEAPER = 1.5
# Advice of one table: what matters most comes first.
MOST = 3


def advice(table: str, found: InsightRows) -> list[Advice]:
    """What the undivided rows of a table suggest; `agents` is divided by agent."""
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    told = (each for row in rows for each in _RULES[table](row))
    return [*told, *(_cheapest(rows) if table == "agents" else ())][:MOST]


def _of_tasks(row: Row) -> Iterator[Advice]:
    each = row["iterations_per_task"]
    if row["unpriced_turns"]:
        text = (
            f"{row['unpriced_turns']} of {row['turns']} turns have no price, so the cost is higher:"
            " write `prices:` into the profiles of agents that report none"
        )
        yield Advice(text=text, table="tasks")
    if row["tasks"] >= FEW_TASKS and each >= MANY_ITERATIONS:
        text = f"a completed task took {each:.1f} iterations: split tasks, or plan first (`--plan`)"
        yield Advice(text=text, table="tasks")


def _of_first_time_right(row: Row) -> Iterator[Advice]:
    if row["tasks"] >= FEW_TASKS and row["percent"] < 50:
        text = (
            f"{row['first_time_right']} of {row['tasks']} tasks passed every gate with their first"
            " submission: `hookline insights gates` shows which gates reject"
        )
        yield Advice(text=text, table="first-time-right", match={"first_time_right": "0"})


_WAITS = {
    "ready": "more lanes would take them sooner (`hookline work --agents`)",
    "blocked": "`hookline attention` shows what waits for you",
    "needs_continuation": "`hookline attention` shows what waits for you",
    "submitted": "gates and the queue hold them up (`hookline stats` says how long gates take)",
    "created": "they wait for other tasks: fewer dependencies would let more run at once",
}


def _of_states(row: Row) -> Iterator[Advice]:
    if row["percent"] >= 50 and row["state"] in _WAITS:
        text = (
            f"tasks were {shown_state(row['state'])} for {row['percent']:.0f}% of their time:"
            f" {_WAITS[row['state']]}"
        )
        yield Advice(text=text, table="states", match={"state": row["state"]})


def _of_gates(row: Row) -> Iterator[Advice]:
    match = {"gate": row["gate"], "point": row["point"]}
    first, rejected = row["first_asked"], row["first_rejected"]
    if first >= FEW_TASKS and 2 * rejected >= first:
        text = (
            f"`{row['gate']}` rejected {rejected} of {first} first submissions: tell the agent"
            " before what it asks for"
        )
        about = {**match, "verdict": "rejected", "is_first": "1"}
        yield Advice(text=text, table="gates", match=about)
    if row["asked"] >= FEW_TASKS and 5 * row["broke"] >= row["asked"]:
        text = (
            f"`{row['gate']}` could not check the work {row['broke']} of {row['asked']} times:"
            " repair it (`hookline why`)"
        )
        yield Advice(text=text, table="gates", match={**match, "verdict": "broke"})


def _of_checks(row: Row) -> Iterator[Advice]:
    if row["kind"] != "gate" and row["results"] >= FEW_RESULTS and not row["failed"]:
        text = (
            f"`{row['name']}` passed all {row['results']} times: with `when` it would run less"
            " often"
        )
        yield Advice(text=text, table="checks", match={"name": row["name"], "kind": row["kind"]})


def _of_flaky(row: Row) -> Iterator[Advice]:
    trees = row["trees"]
    same = "the same files" if trees == 1 else f"the same files {trees} times"
    text = f"`{row['name']}` passed and failed on {same}: repair it, agents cannot rely on it"
    yield Advice(text=text, table="flaky", match={"name": row["name"], "kind": row["kind"]})


def _cheapest(rows: list[dict[str, Any]]) -> Iterator[Advice]:
    """An agent that is cheaper than another one, and not more often rejected."""
    known = [row for row in rows if row["tasks"] >= FEW_TASKS and row["checked"] >= FEW_TASKS]
    known = [row for row in known if row["usd"] and not row["unpriced_turns"]]
    known.sort(key=_usd_each)
    if len(known) < 2:
        return
    best, worst = known[0], known[-1]
    is_better = _right(best) >= _right(worst)
    if is_better and _usd_each(worst) >= CHEAPER * _usd_each(best):
        yield Advice(
            text=f"{_told(best)}; {_told(worst)}: give `{best['agent']}` more of the work",
            table="agents",
            match={"agent": best["agent"]},
        )


def _told(row: Row) -> str:
    right = f"{row['first_time_right']} of {row['checked']} first time right"
    return f"`{row['agent']}` cost ${_usd_each(row):.2f} per completed task, {right}"


def _usd_each(row: Row) -> float:
    return float(row["usd"] / row["tasks"])


def _right(row: Row) -> float:
    return float(row["first_time_right"] / row["checked"])


_RULES: Mapping[str, Callable[[Row], Iterator[Advice]]] = {
    "tasks": _of_tasks,
    "first-time-right": _of_first_time_right,
    "states": _of_states,
    "gates": _of_gates,
    "checks": _of_checks,
    "flaky": _of_flaky,
    "agents": lambda row: iter(()),
}

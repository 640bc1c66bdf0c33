"""Whether what the demo tells really happened: each point is looked up in its store and in git."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.adapters.store.sqlite import SqliteStore
from hookline.domain.events import FIRED
from hookline.domain.sessions import COMPLETED
from hookline.hooks.verdicts import verdicts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.domain.records import Delivery
    from hookline.domain.tasks import Task
    from hookline.ports.store import View

TASKS = ("T-1", "T-2", "T-3")
KEEPER = "public/before_merge[0]:gatekeeper"


class Fact(NamedTuple):
    """A point of the story, and whether it happened."""

    text: str
    happened: bool


async def facts(path: str, is_on_main: Callable[[str], Awaitable[bool]]) -> list[Fact]:
    """The points of the story, by the store at a path and by git."""
    store = SqliteStore(path, read_only=True)
    try:
        with store.read() as view:
            found = _stored(view)
            tasks = [view.graph.find(name) for name in TASKS]
    finally:
        store.close()
    return [*found, Fact("three tasks are merged into main", await _merged(tasks, is_on_main))]


def _stored(view: View) -> list[Fact]:
    tests, links = _calls(view, "tests", "R-1"), _calls(view, "links", "R-1")
    codes = [call.exit_code for call in tests]
    return [
        Fact("a failing test went to the agent, which fixed it", codes == [1, 0]),
        Fact("a hook whose condition was false was skipped", _skipped(links)),
        Fact("the stop hook believed the tests, not the agent", _decided(view)),
        Fact("a gate blocked, and the agent fixed it", _was_fixed(view, "T-2", "changelog")),
        Fact("a gatekeeper asked for a change, then approved", _was_fixed(view, "T-3", KEEPER)),
        Fact("a hook made the review task T-4", _is_review(view.graph.find("T-4"))),
    ]


def _calls(view: View, hook: str, run_id: str) -> list[Delivery]:
    fired = view.log.events(node_id=run_id, types=(FIRED,))
    rows = [row for event in fired for row in view.calls.deliveries(event.seq)]
    return [row for row in rows if row.hook == hook]


def _skipped(calls: list[Delivery]) -> bool:
    return bool(calls) and all(call.status == "skipped" for call in calls)


def _decided(view: View) -> bool:
    ended = view.log.events(node_id="R-1", types=("session_iteration_ended", "session_ended"))
    decisions = [event.data["decision"] for event in ended[:-1]]
    return decisions == ["continue", "complete"] and ended[-1].data["outcome"] == COMPLETED


def _was_fixed(view: View, task_id: str, hook: str) -> bool:
    said = [each.status for each in verdicts(view, task_id) if each.hook == hook]
    return said == ["failure", "success"]


def _is_review(task: Task | None) -> bool:
    return task is not None and "review" in task.labels and task.parent_task_id == "T-3"


async def _merged(tasks: list[Task | None], is_on_main: Callable[[str], Awaitable[bool]]) -> bool:
    for task in tasks:
        if task is None or task.state != "completed" or not task.artifacts:
            return False
        if not await is_on_main(task.artifacts[0]):
            return False
    return True

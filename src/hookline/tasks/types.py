"""Task types: people may give any, an agent only those that its own task allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.tasks import REVIEW
from hookline.errors import BadInput, PeopleOnly, did_you_mean
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.domain.tasks import Task
    from hookline.ports.store import GraphView

    # The types that are configured, each with those that agents on such a task may create.
    Configured = Mapping[str, Sequence[str]]

SHOWN = 20


def nothing_configured() -> Configured:
    """Where no types are configured, a type is only a word."""
    return {}


class Types(Immutable):
    """Who gives tasks their types, and what the configuration says about that.

    `by_agent`: an agent, or what it has started; `own_task` is the task of its session.
    """

    configured: Callable[[], Configured] = nothing_configured
    by_agent: bool = False
    own_task: str | None = None

    def for_new(
        self, graph: GraphView, parent: str | None, wanted: str | None
    ) -> tuple[str | None, str | None]:
        """The parent and the type of a new task; an error if an agent may not create it."""
        if not self.by_agent:
            return parent, wanted
        own = graph.find(self.own_task) if self.own_task else None
        origin = graph.task(parent) if parent else own
        kind = wanted if wanted is not None or origin is None else origin.type
        # An agent could name a parent whose type has fewer gates, so its own task decides.
        self._check(kind, own or origin)
        return parent or (own.id if own else None), kind

    def check_change(self, task: Task, wanted: str | None) -> None:
        """Refuse an agent that would change a task's gates by its type."""
        if self.by_agent and wanted != task.type:
            help = "say in your last message, or in a note, which type it should have"
            raise PeopleOnly(f"{task.id} keeps its type: only a person can change it", help=help)

    def check_labels(self, task: Task, wanted: Sequence[str]) -> None:
        """Refuse an agent that would have a task completed without a commit and its gates."""
        if self.by_agent and REVIEW in wanted and REVIEW not in task.labels:
            help = "say in your last message, or in a note, that it is a review"
            raise PeopleOnly(f"only a person can label {task.id} as {REVIEW}", help=help)

    def unknown(self, kind: str | None) -> str | None:
        """The message that a type is not configured although others are, with the nearest name."""
        known = self.configured() if kind is not None else {}
        if kind is None or not known or kind in known:
            return None
        hint = did_you_mean(kind, known) or f"there are {_listed(known)}"
        return f"no type of task is called '{kind}': {hint}"

    def _check(self, kind: str | None, origin: Task | None) -> None:
        if origin is not None and kind == origin.type:
            return
        if problem := self.unknown(kind):
            raise BadInput(problem)
        if origin is None:
            return
        allowed = self.configured().get(origin.type or "", ())
        if kind not in allowed:
            own = f"of the type {origin.type}" if origin.type else "without a type"
            raise PeopleOnly(
                f"you work on {origin.id}, a task {own}: you may not create a task"
                f" {f'of the type {kind}' if kind else 'without a type'}",
                help=_help(origin.type, allowed),
            )


ANY_TYPE = Types()


def _help(kind: str | None, allowed: Sequence[str]) -> str:
    if kind is None:
        return "leave the type out, or ask a person to add the task"
    more = f", or of {_listed(allowed)}" if allowed else ""
    return (
        f"leave the type out: the task is then of the type {kind}{more};"
        f" `task_types.{kind}.may_create` in hookline.yaml lists what agents may create"
    )


def _listed(names: Sequence[str] | Configured) -> str:
    shown = list(names)[:SHOWN]
    return ", ".join(shown) + (" and more" if len(names) > SHOWN else "")

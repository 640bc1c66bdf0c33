"""One call of a tool: the project opened for it, and who calls."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from hookline.app import App
from hookline.flows.judged_work import refuse_others, refuse_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Concatenate, ParamSpec, TypeVar

    from hookline.ports.store import Transaction
    from hookline.tasks.types import Types

    P = ParamSpec("P")
    R = TypeVar("R")

MAX_NAME = 60
_SESSION = ("HOOKLINE_SESSION", "HOOKLINE_RUN_ID", "HOOKLINE_TASK_ID")


class Session(NamedTuple):
    """The session that the calling agent works in."""

    name: str
    run_id: str
    task_id: str


class Visit(NamedTuple):
    """What a tool works with.

    `agent` is the profile that the server was started for, which a client cannot choose;
    `commands` is whether agents may have commands of their own run.
    """

    app: App
    agent: str | None = None
    commands: bool = True

    @property
    def session(self) -> Session | None:
        """The session of this very project that the server was started in, if any."""
        app = self.app
        folder = os.path.abspath(app.environ.get("HOOKLINE_DIR", ""))
        found = [app.environ.get(name, "") for name in _SESSION]
        if folder != os.path.abspath(app.project.folder) or not all(found):
            return None
        return Session(*found)

    @property
    def types(self) -> Types:
        """What an agent may do with types: whoever calls tools is one."""
        return self.app.types._replace(by_agent=True)

    def refuse_others(self, task_id: str, verb: str) -> None:
        """Refuse to meddle with a task that the session of another agent works on."""
        own = self.session.run_id if self.session is not None else None
        with self.app.read() as view:
            refuse_others(view, view.graph.task(task_id), own, verb)

    def refuse_verdict(self, task_id: str, verb: str, changes: Collection[str] = ()) -> None:
        """Refuse what would decide about work in place of those who judge it."""
        with self.app.read() as view:
            refuse_verdict(view, view.graph.task(task_id), verb, changes)

    def change(
        self, verb: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Carry out a verb."""
        return self.app.change(verb, *args, **kwargs)


def in_session(environ: Mapping[str, str]) -> bool:
    """Whether a server was started for the agent of a session."""
    return all(environ.get(name) for name in ("HOOKLINE_DIR", *_SESSION))


@contextmanager
def opened(environ: Mapping[str, str], client: str | None, *, commands: bool) -> Iterator[Visit]:
    """The project as it is now: configuration and trust may have changed since the last call."""
    app = App.open(environ=signed(environ, client))
    try:
        yield Visit(app, environ.get("HOOKLINE_AGENT"), commands)
    finally:
        app.close()


def signed(environ: Mapping[str, str], client: str | None) -> Mapping[str, str]:
    """The environment in which the caller has a name: its session's agent, or what it says."""
    name = "".join(char for char in client or "" if char.isprintable())[:MAX_NAME].strip()
    if environ.get("HOOKLINE_AGENT") or not name:
        return environ
    return {**environ, "HOOKLINE_AGENT": name}

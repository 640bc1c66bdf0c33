"""Parts that most hooks never need: each is imported for the first hook that does."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from hookline.hooks.calls.call import NO_TASK, folder_of
from hookline.wiring.project.stores import is_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.app import App
    from hookline.ports.agents import Agents
    from hookline.ports.network import Http, Mail
    from hookline.ports.processes import Processes
    from hookline.ports.repository import Repository
    from hookline.ports.work import Forge


class _Deferred:
    def __init__(self, load: Callable[[], object]) -> None:
        self._load = load

    @cached_property
    def _loaded(self) -> object:
        return self._load()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loaded, name)


def http(app: App) -> Http:
    """What sends requests."""

    def load() -> Http:
        from hookline.adapters.network.http import HttpClient

        return HttpClient(app.cleaner)

    return cast("Http", _Deferred(load))


def mail(app: App) -> Mail:
    """What sends mail."""

    def load() -> Mail:
        from hookline.adapters.network.mail import SmtpClient

        return SmtpClient(app.cleaner)

    return cast("Mail", _Deferred(load))


def gatekeeper_agents(app: App, processes: Processes) -> Agents:
    """Agents that hooks ask."""

    def load() -> Agents:
        from hookline.wiring.working import agents

        return agents.gatekeeper_agents(app, processes)

    return cast("Agents", _Deferred(load))


def repository(app: App) -> Repository:
    """The project's repository."""

    def load() -> Repository:
        from hookline.wiring.working import repositories

        return repositories.repository(app)

    return cast("Repository", _Deferred(load))


def forge(app: App) -> Forge:
    """Where the project's pull requests are made."""

    def load() -> Forge:
        from hookline.wiring.working import forges

        return forges.forge(app)

    return cast("Forge", _Deferred(load))


def ring(app: App) -> None:
    """Ring the bell of this process's terminal, and of those that watch sessions elsewhere."""
    from hookline.ports.feeds import BELL

    app.ring()
    with app.read() as view:
        live = view.sessions.live()
    for run_id in live:
        app.feeds.of(run_id)(BELL, {"by": app.owner})


async def changed_files(app: App, payload: Mapping[str, Any]) -> list[str]:
    """What `changed()` looks at: of a gate's work all that it changes, else what is uncommitted."""
    from hookline.domain.work.submissions import COMPARED
    from hookline.wiring.working.repositories import git_work

    work, base = git_work(app), payload.get("base_branch")
    if base is None:
        return await work.changed_files(folder_of(payload, app.project.root))
    folder = payload["worktree"]
    if (ends := payload.get(COMPARED)) is not None:
        return await work.changed_between(folder, *ends)
    git = repository(app)
    await git.bases.head(base)  # an agent can move what was known of the remote
    return await work.changed_since(folder, await git.history.merge_base(folder, base))


def tell_task(app: App, payload: Mapping[str, Any]) -> tuple[str | None, frozenset[str]]:
    """The file of a gate's task as it is now, and the authors of its work."""
    from hookline.sessions.spending import authors
    from hookline.sessions.told.task_file import renewed_task

    if not is_kept(app.store):  # a program asks before there is any task
        return NO_TASK
    if not payload.keys() >= {"task_id", "task_path", "worktree", "agent_name"}:
        return NO_TASK  # a person tries a gate on what they typed
    named = {payload["agent_name"]} - {""}
    with app.read() as view:
        return renewed_task(view, payload), authors(view, payload["task_id"]) | named

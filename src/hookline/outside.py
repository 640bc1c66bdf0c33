"""The half of the composition root that reaches out: processes, network, calls of hooks."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters import git
from hookline.adapters.http import HttpClient
from hookline.adapters.identity import kill_group, owner_is_gone
from hookline.adapters.process import LocalProcesses
from hookline.adapters.store.sqlite import SqliteStore
from hookline.errors import UnknownWorkflow
from hookline.hooks.call import Caller, Surroundings
from hookline.hooks.delivery import Deliverer, Owner
from hookline.hooks.redact import redactor
from hookline.hooks.registry import HookContext
from hookline.ports import ProcessGroup
from hookline.trust import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.app import App
    from hookline.domain.records import Delivery, Outcome
    from hookline.hooks.registry import Hook

MAX_LOG_BYTES = 8 * 1024 * 1024


def deliverer(app: App, observe: Callable[[Delivery, Outcome], None]) -> Deliverer:
    """Everything that delivery needs, put together for one project."""
    log = call_log(app.project.hook_log)

    def record(row: Delivery, outcome: Outcome) -> None:
        log(row, outcome)
        observe(row, outcome)

    return Deliverer(
        app.store,
        app.settling,
        caller(app),
        Owner(app.owner, lambda owner, until: _is_free(app, owner, until), _end_child),
        metadata=app.metadata(),
        record=record,
    )


def caller(app: App) -> Caller:
    """What calls hooks, with everything they need around them."""
    processes = LocalProcesses(app.project.blobs)

    async def changed() -> list[str]:
        return await git.changed_files(processes, app.project.root, app.environ)

    return Caller(
        Surroundings(
            root=app.project.root,
            folder=app.project.folder,
            environ=app.environ,
            processes=processes,
            http=HttpClient(),
            verify=_verifier(app),
            redact=redactor(app.environ),
            changed_files=changed,
            context=app.context,
        )
    )


def live_context(app: App) -> HookContext:
    """A context over a connection of its own: what a hook reads is what is stored now."""
    store = SqliteStore(app.store.path, read_only=True)

    def start_flow(workflow: str, context: dict[str, Any]) -> None:
        raise UnknownWorkflow(f"there is no workflow '{workflow}'")

    view = store.live()
    return HookContext(view.graph, view.log, start_flow)


def call_log(path: str) -> Callable[[Delivery, Outcome], None]:
    """Writes a line for each call to the log that a person can tail."""

    def write(row: Delivery, outcome: Outcome) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        parts = [
            stamp,
            f"event={row.event_seq}",
            f"point={row.point}",
            f"hook={row.hook}",
            f"status={outcome.status}",
            f"ms={outcome.duration_us / 1000:.1f}",
        ]
        if outcome.exit_code is not None:
            parts.append(f"exit={outcome.exit_code}")
        if outcome.error:
            parts.append(f"error={outcome.error.splitlines()[0][:300]!r}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > MAX_LOG_BYTES:
            os.replace(path, f"{path}.1")
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(" ".join(parts) + "\n")

    return write


def _verifier(app: App) -> Callable[[Hook], None]:
    # Who trusts a folder for ever wants to edit its hooks while they are in use.
    if app.trust is None or app.settings is None or app.trust.verdict.always:
        return lambda hook: None
    watch = Watch(app.project, app.trust.manifest, app.settings.hooks)

    def verify(hook: Hook) -> None:
        if hook.layer == "project":
            watch.verify()

    return verify


def _is_free(app: App, owner: str, until: float) -> bool:
    return owner == app.owner or until < time.time() or owner_is_gone(owner)


def _end_child(child: str) -> None:
    kill_group(msgspec.json.decode(child, type=ProcessGroup))

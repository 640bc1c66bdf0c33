"""Asking the gates of a point outside a submission: as a trial, or for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hookline.digest import sha256
from hookline.domain.work.submissions import OF_PULL_REQUESTS
from hookline.hooks.calls.firing import Firing, fire
from hookline.wiring.calling.calls import recorder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.flows.outcomes import Observe
    from hookline.hooks.calls.record import Recorder
    from hookline.hooks.registry import Hook
    from hookline.hooks.rules import Called


async def ask_gates(
    app: App,
    point: str,
    payload: dict[str, Any],
    observe: Observe = lambda what, details: None,
) -> list[Called]:
    """Ask the gates that apply to some work; each with its outcome, all recorded."""
    name = f"trial-{uuid4().hex[:12]}"

    def key(hook: Hook) -> str:
        return f"{app.store.id}-{name}-{sha256(hook.name.encode()).hexdigest()[:16]}"

    calls = recorder(app)
    firing = Firing(point, payload, payload["task_id"], name, key, observe=observe)
    return await fire(calls, firing, _gates(app, calls, point, payload))


def _gates(app: App, calls: Recorder, point: str, payload: Mapping[str, Any]) -> list[Hook]:
    agent, task_type = payload["agent_name"] or None, payload["task_type"]
    found = app.scopes.hooks_at(point, agent=agent, task_type=task_type)
    skips_pr = payload["extra"].get("skip_pr")
    return [
        hook for hook in calls.enabled(found) if not (skips_pr and hook.target in OF_PULL_REQUESTS)
    ]

"""The clone of the project that this process works in, if others share its store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.hooks.builtin.gates.arguments import Secrets
from hookline.hooks.builtin.stop.context import read_arguments
from hookline.points import HOLDING
from hookline.wiring.project.clones import is_shared, own_name
from hookline.wiring.working.repositories import repository

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.sessions.takeover import Takeover


def takeover(app: App) -> Takeover | None:
    """Where the work on tasks is; None if the store belongs to this folder alone."""
    if not is_shared(app):
        return None
    from hookline.sessions.takeover import CloneSettings, Takeover  # few projects share one

    copies = app.sections.session.copies
    clone = CloneSettings(own_name(app), app.project.root, copies, _secrets(app))
    return Takeover(clone, app.store, app.blobs, repository(app))


def _secrets(app: App) -> Secrets:
    """What the project's own gates let pass and leave alone."""
    gates = (hook for point in HOLDING for hook in app.scopes.all_hooks_at(point))
    for gate in gates:
        if (gate.kind, gate.target) == ("built-in", "secrets"):
            return read_arguments(Secrets, gate.metadata.get("arguments"))
    return Secrets()

"""The doctor's look at telemetry: whether what is over reaches its collector."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from hookline.app import App
from hookline.domain.text.terminal import plural
from hookline.errors import StoreError
from hookline.queries.doctor.checks import Diagnosis, ok, skipped, warning
from hookline.queries.telemetry.status import telemetry_status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.project import Project

AGAIN = "look at `hookline telemetry status`, then run `hookline telemetry send`"


def telemetry_checks(project: Project, environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Where telemetry goes, and whether it arrives."""
    try:
        with closing(App.open(project.root, environ=environ, read_only=True)) as app:
            found = telemetry_status(app)
    except StoreError:
        yield skipped("telemetry", "not checked: the store cannot be read")
        return
    if found.destination is None:
        yield skipped("telemetry", "none is sent")
    elif found.problem is not None:
        yield warning("telemetry", f"it is not sent: {found.problem}", found.help)
    elif found.error is not None:
        told = f"it does not reach {found.destination}: {found.error}"
        yield warning("telemetry", told, AGAIN)
    else:
        rejected = f", {found.rejected} rejected" if found.rejected else ""
        yield ok("telemetry", f"{plural(found.sent, 'span')} to {found.destination}{rejected}")

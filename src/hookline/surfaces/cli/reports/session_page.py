"""The report of a session: its outcome, each iteration with its diff, its proof and its gates."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from hookline.queries.page.report import session_file
from hookline.queries.reports.diffs import with_iteration_changes
from hookline.queries.reports.session import session_report
from hookline.surfaces.cli.output import answer
from hookline.surfaces.cli.reports import page
from hookline.surfaces.cli.reports.files import write_page

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.app import App
    from hookline.domain.runs.model import Run


def tell_session(args: Namespace, app: App, run: Run, output: str | None) -> None:
    """Write a session's page, and say where."""
    with app.read() as view:
        found = session_report(view, run, app.blobs)
    found = asyncio.run(with_iteration_changes(app, found))
    path = write_page(app, page.parts(session_file(app, found)), f"{run.run_id}.html", output)
    if path is not None:
        told = {"runId": run.run_id, "file": os.path.abspath(path)}
        answer(args, told, os.path.relpath(path))

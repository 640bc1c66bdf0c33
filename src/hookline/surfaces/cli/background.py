"""Commands in the background: what `run --detach` and `work --detach` say, and the worker's log."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from hookline.domain.sessions.model import WORKER, UnknownSession
from hookline.surfaces.cli.opening import open_log
from hookline.surfaces.cli.output import answer, paint, untrusted, warn
from hookline.wiring.running.detached import log_of
from hookline.wiring.running.hosts import workers

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.wiring.running.detached import Detached


def detach_argument(p: ArgumentParser) -> None:
    """Whether the command continues without its terminal."""
    p.add_argument("--detach", action="store_true", help="run in the background, and return")


def warn_of_silence(app: App) -> None:
    """Say which notifications could not be sent, before nobody watches."""
    from hookline.queries.doctor.hooks import silent  # few commands are detached

    hooks = app.settings.all_hooks if app.settings is not None else ()
    found = silent(hooks, app.project, app.environ)
    told = {(str(hook.metadata["arguments"]["channel"]), str(why), why.fix) for hook, why in found}
    for channel, why, fix in sorted(told):
        warn(
            f"no notification is sent by {channel}: {untrusted(why, 200)}", help=untrusted(fix, 200)
        )


def tell_detached(
    args: Namespace, made: Detached, what: str, ways: Mapping[str, str], **details: Any
) -> None:
    """Say that something runs in the background, and the commands that reach it."""
    log = os.path.relpath(made.log)
    lines = [f"{what} in the background"]
    lines += [f"  {paint(f'{name:7}', 'dim')} {command}" for name, command in ways.items()]
    shown = {**details, "supervisor": made.process.pgid if made.process else None, "log": made.log}
    answer(args, shown, *lines, f"  {paint('log    ', 'dim')} {log}")


LOOK_AGAIN = 0.3


def show_worker_log(args: Namespace, app: App, *, follow: bool) -> int:
    """Print what the worker in the background has said; `follow` continues until it ends."""
    path = log_of(app.project, WORKER)
    if not os.path.lexists(path):
        help = "`hookline work --detach` starts one; `hookline attach NAME` watches a session"
        raise UnknownSession("no worker has run in the background", help=help)
    with open_log(path) as log:
        while True:
            is_over = not workers(app.project.folder)
            for line in log:
                text = line.rstrip("\n")
                answer(args, {"type": "worker_log", "data": {"line": text}}, text)
            if is_over or not follow:
                return 0
            sys.stdout.flush()
            time.sleep(LOOK_AGAIN)

"""`hookline attention`: what waits for a person, since when, and the command to type."""

from __future__ import annotations

import sys
from textwrap import wrap
from typing import TYPE_CHECKING

from hookline.domain.timestamps import moment_text
from hookline.errors import NEEDS_PERSON
from hookline.queries.waiting.attention import attention
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import (
    answer,
    columns,
    is_terminal,
    paint,
    say,
    say_command,
    untrusted,
)

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.queries.waiting.item import Item

COLUMNS = 100


def _attention(args: Namespace) -> int:
    with reading() as app:
        found, now = attention(app), app.store.now()
    if answer(args, found, *(() if found else ["nothing waits for you"])):
        for item in found:
            _show(item, now)
    return NEEDS_PERSON if found else 0


def _show(item: Item, now: str) -> None:
    since = paint(f"  since {moment_text(item.since, now)}", "dim") if item.since else ""
    say(f"{paint(f'{item.kind:10}', 'yellow')} {paint(untrusted(item.id), 'bold')}{since}")
    width = max(20, (columns() if is_terminal(sys.stdout) else COLUMNS) - 2)
    for text in (item.goal, item.message):
        for line in wrap(untrusted(text or ""), width, break_on_hyphens=False):
            say(f"  {line}")
    say_command(f"  {paint('type:', 'dim')} ", item.command)
    if item.accept is not None:
        say_command(f"  {paint('or, if you looked and the work is right:', 'dim')} ", item.accept)


COMMANDS = {"attention": Command("show what waits for a person", no_arguments, _attention)}

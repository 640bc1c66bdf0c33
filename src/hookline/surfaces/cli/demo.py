"""`hookline demo`: the real commands, typed and explained in a temporary repository.

No key, no network, and nothing of the user's is touched: the demo has a home of its own.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

from hookline.errors import FAILED, HooklineError
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.demo_checks import facts
from hookline.surfaces.cli.demo_script import SCRIPT
from hookline.surfaces.cli.demo_stage import Stage, stage_folder
from hookline.surfaces.cli.output import paint, say_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.surfaces.cli.demo_checks import Fact


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--keep", action="store_true", help="leave the folder, and say where")


def _demo(args: Namespace) -> int:
    started = time.monotonic()
    with stage_folder(keep=args.keep) as folder:
        stage = Stage(folder, quiet=args.json)
        kept = stage.root if args.keep else None
        try:
            found = asyncio.run(_perform(stage))
        except HooklineError:
            if not args.json:
                raise
            say_json({"ok": False, "folder": kept, "facts": [], "steps": stage.shown})
            return FAILED
        seconds = time.monotonic() - started
        ok = all(fact.happened for fact in found)
        if args.json:
            answer = {"ok": ok, "folder": kept, "seconds": round(seconds, 1)}
            say_json({**answer, "facts": [each._asdict() for each in found], "steps": stage.shown})
        else:
            _end(stage, seconds, keep=args.keep)
    return 0 if ok else FAILED


async def _perform(stage: Stage) -> list[Fact]:
    stage.tell("Hookline in one minute: from tasks to merged code, with hooks all the way.", "bold")
    stage.tell("Everything here is real and happens in a temporary repository.")
    stage.tell()
    stage.furnish()
    await stage.make_repository()
    for step in SCRIPT:
        await stage.play(step)
    found = await facts(stage.database, stage.is_on_main)
    stage.tell("All of that was looked up in the store and in git:", "bold")
    for fact in found:
        mark = paint("✓", "green") if fact.happened else paint("✗", "red")
        stage.tell(f"  {mark} {fact.text}")
    stage.tell()
    return found


def _end(stage: Stage, seconds: float, *, keep: bool) -> None:
    stage.tell("What to try next", "bold")
    stage.tell("  hookline init       set it up in a repository of your own")
    stage.tell("  hookline points     every place where a hook can stand")
    stage.tell("  hookline doctor     is everything as it should be?")
    stage.tell()
    if keep:
        stage.tell(f"The repository is in {stage.root}; there, use it with")
        stage.tell(f"  export HOOKLINE_HOME={os.path.join(stage.folder, 'home')}")
        stage.tell("  hookline why changelog; hookline task graph; hookline session list")
    else:
        stage.tell(f"That took {seconds:.1f} s, and the temporary repository is gone again;")
        stage.tell("`hookline demo --keep` leaves it for you to look at.")


COMMANDS = {"demo": Command("see it work in a temporary repository", _arguments, _demo)}

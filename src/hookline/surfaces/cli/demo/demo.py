"""`hookline demo`: the real commands, typed and explained in a temporary repository.

It needs no API key and no network, and leaves the user's files alone: it has its own home folder.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.events import FIRED
from hookline.domain.sessions.model import COMPLETED
from hookline.errors import FAILED, HooklineError
from hookline.hooks.gates.verdicts import verdicts
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.demo.script import SCRIPT
from hookline.surfaces.cli.demo.stage import Stage, stage_folder
from hookline.surfaces.cli.output import paint, say_json
from hookline.wiring.project.stores import open_store

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Awaitable, Callable

    from hookline.domain.hooks.records import Delivery
    from hookline.domain.tasks import Task
    from hookline.ports.store import View

TASKS = ("T-1", "T-2", "T-3")
KEEPER = "public/before_merge[0]:gatekeeper"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--keep", action="store_true", help="keep the temporary repository, and print its path"
    )


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
    stage.tell(
        "Hookline in one minute: from tasks to merged code, with a hook at every step.", "bold"
    )
    stage.tell("Every command below really runs, in a temporary repository.")
    stage.tell()
    stage.furnish()
    await stage.make_repository()
    for step in SCRIPT:
        await stage.play(step)
    found = await _facts(stage.database, stage.is_on_main)
    stage.tell("Checked in the store and in git:", "bold")
    for fact in found:
        mark = paint("✓", "green") if fact.happened else paint("✗", "red")
        stage.tell(f"  {mark} {fact.text}")
    stage.tell()
    return found


def _end(stage: Stage, seconds: float, *, keep: bool) -> None:
    stage.tell("What to try next", "bold")
    stage.tell("  hookline init       set up Hookline in your own repository")
    stage.tell("  hookline points     list every point where hooks can run")
    stage.tell("  hookline doctor     check that everything works")
    stage.tell()
    if keep:
        stage.tell(f"The repository is in {stage.root}. To look around, go there and type")
        stage.tell(f"  export HOOKLINE_HOME={os.path.join(stage.folder, 'home')}")
        stage.tell("  hookline why changelog; hookline task graph; hookline session list")
    else:
        stage.tell(f"The demo took {seconds:.1f} s. Its temporary repository has been deleted;")
        stage.tell("use `hookline demo --keep` to keep it.")


# Checks that everything happened as the demo says


class Fact(NamedTuple):
    """Something that the demo shows, and whether it happened."""

    text: str
    happened: bool


async def _facts(path: str, is_on_main: Callable[[str], Awaitable[bool]]) -> list[Fact]:
    """What the demo shows, checked in its store and in git."""
    with closing(open_store(f"sqlite://{path}", read_only=True)) as store, store.read() as view:
        found = _stored(view)
        tasks = [view.graph.find(name) for name in TASKS]
    return [*found, Fact("all three tasks were merged into main", await _merged(tasks, is_on_main))]


def _stored(view: View) -> list[Fact]:
    tests, links = _calls(view, "tests", "R-1"), _calls(view, "links", "R-1")
    codes = [call.exit_code for call in tests]
    skipped = bool(links) and all(call.status == "skipped" for call in links)
    review = view.graph.find("T-4")
    is_review = bool(review and "review" in review.labels and review.parent_task_id == "T-3")
    return [
        Fact("the agent got the output of a failing test and fixed the bug", codes == [1, 0]),
        Fact("a hook whose condition was false was skipped", skipped),
        Fact("the stop hook went by the tests, not by the agent's word", _decided(view)),
        Fact("a gate failed, and the agent fixed its work", _was_fixed(view, "T-2", "changelog")),
        Fact("a gatekeeper requested a change, then approved", _was_fixed(view, "T-3", KEEPER)),
        Fact("a hook added the review task T-4", is_review),
    ]


def _calls(view: View, hook: str, run_id: str) -> list[Delivery]:
    fired = view.log.events(node_id=run_id, types=(FIRED,))
    rows = [row for event in fired for row in view.calls.deliveries(event.seq)]
    return [row for row in rows if row.hook == hook]


def _decided(view: View) -> bool:
    ended = view.log.events(node_id="R-1", types=("session_iteration_ended", "session_ended"))
    decisions = [event.data["decision"] for event in ended[:-1]]
    return decisions == ["continue", "complete"] and ended[-1].data["outcome"] == COMPLETED


def _was_fixed(view: View, task_id: str, hook: str) -> bool:
    said = [each.status for each in verdicts(view, task_id) if each.hook == hook]
    return said == ["failure", "success"]


async def _merged(tasks: list[Task | None], is_on_main: Callable[[str], Awaitable[bool]]) -> bool:
    for task in tasks:
        if task is None or task.state != "completed" or not task.artifacts:
            return False
        if not await is_on_main(task.artifacts[0]):
            return False
    return True


COMMANDS = {"demo": Command("see Hookline work in a temporary repository", _arguments, _demo)}

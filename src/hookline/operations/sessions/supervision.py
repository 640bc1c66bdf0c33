"""Work in the background: `run --detach` and `work --detach` start it, and a supervisor watches.

The supervisor is a separate process, out of reach of the terminal. It waits for the command; if
that is killed, it says so and resumes the work, once.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, TypeVar

from hookline.app import App
from hookline.domain.events import SYSTEM_NODE
from hookline.domain.sessions.model import WORKER
from hookline.domain.timestamps import iso
from hookline.errors import HooklineError
from hookline.files import bytes_of
from hookline.operations.announcements import deliver_and_tell
from hookline.operations.telemetry.background import send_rest
from hookline.wiring.running import detached
from hookline.wiring.running.hosts import workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.wiring.running.detached import Detached

T = TypeVar("T")
# How long the command that detaches waits until the other one is at work.
PATIENCE, LOOK_AGAIN = 30.0, 0.05
MOST_RESUMED = 1
# How long the supervisor stays for notifications that are not due yet, and how often it looks.
LONGEST_WAIT, SEND_AGAIN = 24 * 3600.0, 15.0
SHOWN = 2000


def detach_session(app: App, run_id: str, limits: Mapping[str, float] | None = None) -> Detached:
    """Let a session that was started or stopped be run in the background, with new limits."""
    words = ["run", "--resume"]
    for name, value in (limits or {}).items():
        words += [f"--{name}", f"{value}"]
    with app.read() as view:
        place = view.log.last()

    def is_at_work() -> bool:
        with app.read() as view:
            return bool(view.log.events(node_id=run_id, after=place, limit=1))

    return _started(app, [*words, "--name", run_id], run_id, is_at_work)


def detach_worker(app: App, words: Sequence[str]) -> Detached:
    """Let a worker run in the background."""
    folder = app.project.folder
    before = {each.owner for each in workers(folder)}
    return _started(
        app,
        words,
        WORKER,
        lambda: any(each.owner not in before for each in workers(folder)),
    )


def _started(app: App, words: Sequence[str], name: str, is_at_work: Callable[[], bool]) -> Detached:
    """A command in the background, once it is at work; its own words if it ends before."""
    made = detached.start(app.project, words, name, app.environ)
    end = time.monotonic() + PATIENCE
    while not is_at_work() and time.monotonic() < end:
        if not made.is_alive:
            said = bytes_of(made.log, 1 << 20)[-SHOWN:].decode("utf-8", "replace").strip()
            raise HooklineError(
                f"it ended at once: {said or 'without a word'}", help=f"its log is {made.log}"
            )
        time.sleep(LOOK_AGAIN)
    return made


# The supervisor


def supervise(root: str, words: Sequence[str]) -> int:
    """Run a command to its end; one that is killed is resumed, once. Then send what still waits."""
    for left in range(MOST_RESUMED, -1, -1):
        code = detached.run_command(root, words)
        if code >= 0:
            break
        then = "resuming it" if left else "it was killed before, so it is not resumed again"
        _report(root, words, f"it was killed by signal {-code}; {then}")
    _send_later(root)
    return max(code, 0) or int(code < 0)


def _report(root: str, words: Sequence[str], message: str) -> None:
    _say(message)
    run_id = words[-1] if "--resume" in words else SYSTEM_NODE

    def note(app: App) -> None:
        app.change(lambda tx: tx.append("run_log", run_id, {"message": message}))
        asyncio.run(deliver_and_tell(app))

    _with_project(root, note)


def _send_later(root: str) -> None:
    """Stay until notifications that quiet hours hold back are sent; but not forever."""
    end = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < end and _with_project(root, _sends_more):
        time.sleep(SEND_AGAIN)


def _sends_more(app: App) -> bool:
    """Send what is due; whether something is left for later."""
    asyncio.run(deliver_and_tell(app))
    send_rest(app)
    with app.read() as view:
        return not view.outbox.is_empty()


def _with_project(root: str, do: Callable[[App], T]) -> T | None:
    """The work matters more than its record: a store that cannot be opened is only reported."""
    try:
        app = App.open(root)
        try:
            return do(app)
        finally:
            app.close()
    except HooklineError as problem:
        _say(problem.message)
        return None


def _say(text: str) -> None:
    print(f"{iso(time.time())} supervisor: {text}", flush=True)


if __name__ == "__main__":
    detached.leave_parent()
    sys.exit(supervise(sys.argv[1], sys.argv[2:]))

"""Opening the project for a command, and calling the hooks that wait when it has written."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import closing, contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hookline.app import App
from hookline.errors import (
    BROKEN,
    BadInput,
    ConfigError,
    StoreError,
    StoreGone,
    StoreReplaced,
    StoreSteppedBack,
    StoreUnreachable,
)
from hookline.files import open_own
from hookline.hooks.builtin import notifies
from hookline.points import TOLD_IN_FEED
from hookline.surfaces.cli.output import is_terminal, note, paint, untrusted, warn
from hookline.wiring.project.configured import GONE, PUT_BACK

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping
    from typing import TextIO

    from hookline.domain.hooks.records import Delivery


MOST_FROZEN = 8


def reading() -> closing[App]:
    """The project, to look at. Read commands never call hooks."""
    try:
        app = App.open(read_only=True)
    except StoreUnreachable as problem:
        problem.help = f"{problem.help}{_who_waits()}"
        raise
    app.ring = ring  # a hook may be tried
    for notice in app.store.notices:
        warn(notice, help=str(StoreReplaced.help))
    return closing(app)


def _who_waits() -> str:
    """Which processes here wait for the server that does not answer."""
    from hookline.project import find_project  # rarely told
    from hookline.wiring.running.hosts import servers

    found = servers(find_project(os.getcwd(), os.environ).folder)
    if not found:
        return ""
    waits = "1 process here waits" if len(found) == 1 else f"{len(found)} processes here wait"
    pids = ", ".join(str(each.pid) for each in found)
    return f"; {waits} for it ({pids}), and agents that are in a turn continue"


def open_log(path: str) -> TextIO:
    """One of our logs, to read; a link or a pipe in its place is refused."""
    try:
        return open(open_own(path), encoding="utf-8", errors="replace")
    except OSError as problem:
        raise BadInput(f"{path} cannot be read: {problem.strerror}") from problem


@contextmanager
def writing() -> Iterator[App]:
    """The project, to change. Afterwards the hooks that wait are called."""
    with closing(App.open()) as app:
        app.listen, app.tell, app.ring = tell_failure, note, ring
        yield app
        sys.stdout.flush()
        deliver(app)


def deliver(app: App) -> None:
    """Call the hooks that wait, and tell about those that failed or may not run.

    If something may wait for a person, they are told.
    """
    _warn_of_trouble(app)
    _call_hooks(app)
    if app.watch.announces:
        _announce(app)
        _send(app)


def _announce(app: App) -> None:
    if app.watch.should_look():
        # What waits is found by much that most commands do without.
        from hookline.operations.announcements import announce

        if announce(app):
            _call_hooks(app)


def _send(app: App) -> None:
    from hookline.wiring.calling.notifications import (  # few projects have any
        is_anything_due,
        send_due,
    )

    if is_anything_due(app):
        asyncio = _asyncio(tls=_needs_tls(app))
        try:
            asyncio.run(send_due(app))
        except StoreGone:
            raise
        except StoreError as problem:  # what the command itself did is stored by now
            warn(f"the change is stored; notifications wait: {untrusted(problem.message)}")


def _call_hooks(app: App) -> None:
    if app.work_waits():
        try:
            asyncio = _asyncio(tls=_needs_tls(app))
            from hookline.wiring.calling.calls import (
                deliver_own,  # after asyncio, which it loads too
            )

            left = asyncio.run(deliver_own(app))
        except StoreGone:
            raise
        except StoreError as problem:  # what the command itself did is stored by now
            why = f"{problem.message}; `hookline work --flows --once` calls them"
            warn(f"the change is stored; its hooks wait: {untrusted(why)}")
            return
        if left.calls:
            note(f"{_waiting(left.calls)}; `hookline work --flows --once` delivers them")
        _tell_held(app, left.held)


def tell_held(app: App) -> None:
    """Say which calls only another process can make now."""
    if app.work_waits():
        from hookline.wiring.calling.calls import held_calls  # few commands have one to call

        _tell_held(app, held_calls(app))


def _tell_held(app: App, held: Mapping[str, int]) -> None:
    for owner, calls in held.items():
        pid = app.host.owner_pid(owner)
        does = f"makes {'it' if calls == 1 else 'them'}"
        if app.host.is_stopped(pid):
            does = f"is suspended: `kill -CONT {pid}` resumes it"
        note(f"{_waiting(calls)} for process {pid}, which {does}")


def _waiting(calls: int) -> str:
    return "1 call waits" if calls == 1 else f"{calls:,} calls wait"


def _needs_tls(app: App) -> bool:
    """Whether a hook may talk to a server; it is asked once, before asyncio is first loaded."""
    return app.scopes.any_of_kind("http") or any(map(notifies, app.registry.list()))


def _asyncio(*, tls: bool) -> ModuleType:
    """asyncio, which costs more than the rest of the command, and most have no hook to call.

    A quarter of that is TLS, which only hooks that post to a server use; asyncio does without.
    What it looks into functions, shows tracebacks and finds encodings with is read when it first
    does, which is never on our way.
    """
    if not tls and "ssl" not in sys.modules:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # documented: its import fails
    for name in ("inspect", "linecache", "locale", "traceback"):
        sys.modules.setdefault(name, _Later(name))
    try:
        return import_module("asyncio")
    finally:
        if sys.modules.get("ssl", sys) is None:
            del sys.modules["ssl"]


class _Later(ModuleType):
    """A module that is read when something of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def ring() -> None:
    """Ring the bell of the terminal, if there is one."""
    if is_terminal(sys.stderr):
        sys.stderr.write("\a")
        sys.stderr.flush()


@contextmanager
def resumed_by(command: str) -> Iterator[None]:
    """Where the store fails in the middle of the work, say how it continues, not: again."""
    try:
        yield
    except (StoreGone, StoreSteppedBack):
        raise
    except StoreError as problem:
        problem.help = f"what was stored is kept; fix this, then continue with `{command}`"
        raise


def _warn_of_trouble(app: App) -> None:
    """Say once what is amiss with the store, and which hooks are held back, with what to type."""
    for notice in app.store.notices:
        warn(notice)
    if app.settings is not None and app.settings.is_gone:
        warn(GONE, help=PUT_BACK)
    if app.settings is not None and app.settings.has_errors and not app.suspended:
        warn(BROKEN)
    for reason, count in sorted(Counter(app.suspended.values()).items()):
        warn(f"{'1 hook is' if count == 1 else f'{count} hooks are'} held back: {reason}")


def tell_failure(row: Delivery, say: Callable[[str], None] = note) -> None:
    """Say that a call failed, and how to learn more."""
    if row.failure:
        say(f"{paint('✗', 'red', sys.stderr)} {untrusted(row.failure, 300)}")
        say(f"  = help: `hookline why {row.event_seq}` explains it")


def tell_unseen_failure(row: Delivery, say: Callable[[str], None]) -> None:
    """Say that a call failed, unless a feed shows it."""
    if row.point not in TOLD_IN_FEED:
        tell_failure(row, say)


def refuse_unready(args: Namespace, app: App) -> None:
    """Refuse a configuration with errors, all of them shown, and hooks that are not trusted."""
    if app.settings is not None and app.settings.has_errors:
        if not args.json:
            _show_problems(app)
        raise ConfigError
    app.refuse_untrusted()


def tell_frozen(app: App) -> None:
    """Say before the start which files an agent must leave alone."""
    from hookline.wiring.project.trusting import frozen  # few commands start agents

    if names := [untrusted(each.name, 80) for each in frozen(app)]:
        shown = ", ".join(names[:MOST_FROZEN]) + (", ..." if len(names) > MOST_FROZEN else "")
        note(f"frozen by trust: {shown}; an edit stops the checks until you trust it")


def _show_problems(app: App) -> None:
    from hookline.config.reading.render import render  # only a broken configuration needs it

    assert app.settings is not None
    colour = is_terminal(sys.stderr) and not app.environ.get("NO_COLOR")
    # The renderer has made every foreign character visible; what is left is our own colour.
    print(render(app.settings.problems, app.project.root, colour=colour), file=sys.stderr)

"""Opening the project for a command, and calling the hooks that wait when it has written."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hookline.adapters.identity import is_stopped, owner_pid
from hookline.app import BROKEN, GONE, PUT_BACK, App
from hookline.errors import StoreError, StoreGone
from hookline.surfaces.cli.output import note, paint, untrusted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.domain.records import Delivery


@contextmanager
def reading() -> Iterator[App]:
    """The project, to look at. Read commands never call hooks."""
    app = App.open(read_only=True)
    try:
        yield app
    finally:
        app.close()


@contextmanager
def writing() -> Iterator[App]:
    """The project, to change. Afterwards the hooks that wait are called."""
    app = App.open()
    app.listen, app.tell = tell_failure, note
    try:
        yield app
        sys.stdout.flush()
        deliver(app)
    finally:
        app.close()


def deliver(app: App) -> None:
    """Call the hooks that wait, and tell about those that failed or may not run."""
    warn(app)
    if app.work_waits():
        try:
            left = _asyncio(tls=app.standing.any_of_kind("http")).run(app.deliver_own())
        except StoreGone:
            raise
        except StoreError as problem:  # what the command itself did is stored by now
            why = f"{problem.message}; `hookline work --flows --once` calls them"
            note(
                f"{paint('warning', 'yellow', sys.stderr)}: the change is stored;"
                f" its hooks wait: {untrusted(why)}"
            )
            return
        if left.calls:
            note(f"{_waiting(left.calls)}; `hookline work --flows --once` delivers them")
        _tell_held(left.held)


def tell_held(app: App) -> None:
    """Say which calls only another process can make now."""
    if app.work_waits():
        _tell_held(app.held_calls())


def _tell_held(held: Mapping[str, int]) -> None:
    for owner, calls in held.items():
        pid = owner_pid(owner)
        does = f"makes {'it' if calls == 1 else 'them'}"
        if is_stopped(pid):
            does = f"is stopped: `kill -CONT {pid}` lets it go on"
        note(f"{_waiting(calls)} for process {pid}, which {does}")


def _waiting(calls: int) -> str:
    return "1 call waits" if calls == 1 else f"{calls:,} calls wait"


def _asyncio(*, tls: bool) -> ModuleType:
    """asyncio, which costs more than the rest of the command, and most have no hook to call.

    A quarter of that is TLS, which only hooks that post to a server use; asyncio does without.
    What it looks into functions with is read when it first does, which is never on our way.
    """
    if not tls and "ssl" not in sys.modules:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # documented: its import fails
    sys.modules.setdefault("inspect", _Later("inspect"))
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


@contextmanager
def resumed_by(command: str) -> Iterator[None]:
    """Where the store fails in the middle of the work, say how it goes on, and not: again."""
    try:
        yield
    except StoreGone:
        raise
    except StoreError as problem:
        problem.help = f"what was stored is kept; see to it, then go on with `{command}`"
        raise


def warn(app: App) -> None:
    """Say once what is amiss with the store, and which hooks are held back, with what to type."""
    for notice in app.store.notices:
        note(f"{paint('warning', 'yellow', sys.stderr)}: {notice}")
    if app.settings is not None and app.settings.is_gone:
        note(f"{paint('warning', 'yellow', sys.stderr)}: {GONE}")
        note(f"  = help: {PUT_BACK}")
    broken = app.settings is not None and app.settings.has_errors
    if broken and not app.suspended:
        note(f"{paint('warning', 'yellow', sys.stderr)}: {BROKEN}")
    for reason in sorted(set(app.suspended.values())):
        count = sum(why == reason for why in app.suspended.values())
        hooks = "1 hook is" if count == 1 else f"{count} hooks are"
        note(f"{paint('warning', 'yellow', sys.stderr)}: {hooks} held back: {reason}")


def tell_failure(row: Delivery) -> None:
    """Say that a call failed, and how to learn more."""
    if row.failure:
        note(f"{paint('✗', 'red', sys.stderr)} {untrusted(row.failure, 300)}")
        note(f"  = help: `hookline why {row.event_seq}` explains it")

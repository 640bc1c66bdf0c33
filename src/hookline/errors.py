"""Every error Hookline expects. The docstring is the default message, `help` is the remedy.

The command line turns each into one message and its exit code; anything else is a bug.
"""

from __future__ import annotations

from collections.abc import Iterable

OK = 0
FAILED = 1
USAGE = 2
BLOCKED = 3
NEEDS_PERSON = 4
LIMIT = 5
INTERRUPTED = 130


class HooklineError(Exception):
    """Hookline could not do that."""

    code = "failed"
    exit_code = FAILED
    help: str | None = None

    def __init_subclass__(cls, code: str | None = None, exit_code: int | None = None) -> None:
        """Give a kind of error its own code for programs, and exit code."""
        cls.code = code or cls.code
        cls.exit_code = exit_code or cls.exit_code

    def __init__(self, message: str | None = None, *, help: str | None = None) -> None:
        super().__init__(message or type(self).__doc__)
        if help is not None:
            self.help = help

    @property
    def message(self) -> str:
        """What happened, in one sentence."""
        return str(self)


class Fenced(Exception):
    """Another process took this over; what we still know about it no longer counts."""


class UsageError(HooklineError, code="usage", exit_code=USAGE):
    """The command was not understood."""


class NoProject(HooklineError, code="no-project", exit_code=USAGE):
    """There is no Hookline project here or in any folder above."""

    help = "run `hookline init` in the root of your repository"


class BadInput(HooklineError, code="bad-input", exit_code=USAGE):
    """A value is not of the expected form."""


class UnknownTask(HooklineError, code="unknown-task"):
    """There is no such task."""

    help = "`hookline task list --all` shows every task"


class UnknownHook(HooklineError, code="unknown-hook"):
    """There is no such hook."""

    help = "`hookline hook list` shows every hook"


class UnknownEvent(HooklineError, code="unknown-event"):
    """There is no such event."""

    help = "`hookline events` shows the log"


class UnknownEdge(HooklineError, code="unknown-dependency"):
    """There is no such dependency."""

    help = "`hookline dep list` shows every dependency"


class IllegalTransition(HooklineError, code="illegal-transition"):
    """The task's state does not allow that."""


class CycleError(HooklineError, code="cycle"):
    """That dependency would close a cycle."""


class ClaimRefused(HooklineError, code="claimed"):
    """Another agent holds this task."""


class StaleClaim(HooklineError, code="stale-claim"):
    """This claim is no longer current: its lease expired and the task moved on."""

    help = "drop this work, or claim the task again"


class NothingReady(HooklineError, code="nothing-ready"):
    """No task is ready."""

    help = "`hookline task list` shows what the other tasks wait for"


class ReservedEvent(HooklineError, code="reserved-event", exit_code=USAGE):
    """Events of this type change state and are written by Hookline alone."""


class UnknownWorkflow(HooklineError, code="unknown-workflow"):
    """There is no such workflow."""


class BrokenPlugin(HooklineError, code="broken-plugin"):
    """An installed plugin cannot be used."""

    help = "report it to its author, or uninstall its package"


class BadHook(HooklineError, code="bad-hook", exit_code=USAGE):
    """This hook cannot be registered."""


class HookFailure(HooklineError, code="hook-failed"):
    """A hook did not do its work: it failed, timed out, or gave an unreadable answer.

    Carries what the hook had said until then, because that is what explains the failure.
    """

    def __init__(
        self,
        message: str | None = None,
        *,
        stdout: str = "",
        stderr: str = "",
        exit_code: int | None = None,
        blob: str | None = None,
    ) -> None:
        super().__init__(message or "the hook failed")
        self.stdout = stdout
        self.stderr = stderr
        self.program_exit = exit_code
        self.blob = blob


class HookTimeout(HookFailure, code="hook-timeout"):
    """A hook timed out and was stopped."""


# Why hooks are held back.
BROKEN = "the configuration has errors: run `hookline check`"
UNTRUSTED = "this repository's hooks are not trusted: run `hookline trust`"


class ConfigError(HooklineError, code="bad-configuration", exit_code=USAGE):
    """The configuration has errors."""

    help = "`hookline check` shows them all"


class Untrusted(HooklineError, code="untrusted", exit_code=USAGE):
    """This repository's hooks are not trusted."""

    help = "review them, then run `hookline trust`"


class PeopleOnly(HooklineError, code="people-only", exit_code=NEEDS_PERSON):
    """Only a person can run this command, not an agent or a hook."""

    help = "ask the person you work for to run it"


class NeedsPerson(HooklineError, code="needs-person", exit_code=NEEDS_PERSON):
    """This cannot continue until a person acts."""

    help = "`hookline attention` shows what to do"


class StoreError(HooklineError, code="store"):
    """The store could not be read or written."""


class StoreBusy(StoreError, code="store-busy"):
    """Another process kept the store locked for too long."""

    help = "try again; nothing was changed"


class StoreUnreachable(StoreError, code="store-unreachable"):
    """The server of the store cannot be reached."""


class WaitEnded(StoreUnreachable, code="interrupted", exit_code=INTERRUPTED):
    """A person ended the wait for the server of the store."""


class StoreElsewhere(StoreError, code="store-elsewhere"):
    """The store of this project is on a server, and nothing says where."""


class StoreAbsent(StoreError):
    """Nothing was stored yet."""


class StoreLost(StoreBusy):
    """The connection to the store was lost in the middle of a change."""


class StoreCorrupt(StoreError, code="store-corrupt"):
    """The store is damaged."""

    help = "keep the file, then run `hookline doctor` to see what can be read"


class StoreFull(StoreError, code="disk-full"):
    """The disk is full."""

    help = "nothing was changed; free some space and run the command again"


class StoreReadOnly(StoreError, code="read-only"):
    """The store cannot be written."""

    help = "nothing was changed"


class StoreGone(StoreError, code="store-gone"):
    """The store was deleted or replaced while it was in use."""

    help = "what was written since is lost; restore the store's file, or start over"


class StoreSteppedBack(StoreError, code="store-stepped-back"):
    """The server of the store has lost what it had acknowledged."""

    help = "`hookline store reconcile` compares the store with git and the forge, and repairs it"


class StoreReplaced(StoreError, code="store-replaced"):
    """This is not the store that you created or adopted here: it was replaced."""

    help = (
        "restore yours from a backup; or inspect this one with `hookline doctor`, and adopt it"
        " with `hookline trust`"
    )


class LinkedFolder(StoreError, code="linked-folder"):
    """Hookline's own folder, or an entry that only Hookline writes in it, is a link."""

    help = "Hookline does not write through links: remove it, or replace it with what it points to"


class StoreOlder(StoreReadOnly, code="older-store"):
    """The store was written by an older Hookline, and commands that only read do not upgrade it."""

    help = "run a command that writes, such as `hookline task add`, to upgrade it"


class StoreNewer(StoreError, code="newer-store"):
    """The store was written by a newer Hookline."""

    help = "upgrade with `pip install --upgrade hookline`"


def did_you_mean(
    word: str, known: Iterable[str], otherwise: str = "", *, likeness: float = 0.6
) -> str:
    """A hint at the nearest known word, followed by what helps in any case."""
    from difflib import get_close_matches  # only a wrong word pays for this import

    near = get_close_matches(word, list(known), n=1, cutoff=likeness)
    hint = f"did you mean '{near[0]}'?" if near else ""
    return f"{hint} {otherwise}".strip()

"""Every error Hookline expects. The docstring is the default message, `help` is the remedy.

The command line turns each into one message and its exit code; anything else is a bug.
"""

from __future__ import annotations

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


class UsageError(HooklineError):
    """The command was not understood."""

    code = "usage"
    exit_code = USAGE


class NoProject(HooklineError):
    """There is no Hookline project here or in any folder above."""

    code = "no-project"
    exit_code = USAGE
    help = "run `hookline init` in the root of your repository"


class BadInput(HooklineError):
    """A value is not of the expected form."""

    code = "bad-input"
    exit_code = USAGE


class UnknownTask(HooklineError):
    """There is no such task."""

    code = "unknown-task"
    help = "`hookline task list --all` shows every task"


class UnknownHook(HooklineError):
    """There is no such hook."""

    code = "unknown-hook"
    help = "`hookline hook list` shows every hook"


class UnknownEvent(HooklineError):
    """There is no such event."""

    code = "unknown-event"
    help = "`hookline events` shows the log"


class UnknownEdge(HooklineError):
    """There is no such dependency."""

    code = "unknown-dependency"
    help = "`hookline dep list` shows every dependency"


class IllegalTransition(HooklineError):
    """The task's state does not allow that."""

    code = "illegal-transition"


class CycleError(HooklineError):
    """That dependency would close a cycle."""

    code = "cycle"


class ClaimRefused(HooklineError):
    """Another agent holds this task."""

    code = "claimed"


class StaleClaim(HooklineError):
    """This claim is no longer the current one: the lease ran out and the task moved on."""

    code = "stale-claim"
    help = "drop this work, or claim the task again"


class NothingReady(HooklineError):
    """No task is ready."""

    code = "nothing-ready"
    help = "`hookline task list` shows what the others wait for"


class ReservedEvent(HooklineError):
    """Events of this type change state and are written by Hookline alone."""

    code = "reserved-event"
    exit_code = USAGE


class UnknownWorkflow(HooklineError):
    """There is no such workflow."""

    code = "unknown-workflow"


class BadHook(HooklineError):
    """This hook cannot be registered."""

    code = "bad-hook"
    exit_code = USAGE


class HookFailure(HooklineError):
    """A hook did not do its work: it failed, timed out, or gave an answer nobody can read.

    Carries what the hook had said until then, because that is what explains the failure.
    """

    code = "hook-failed"

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


class HookTimeout(HookFailure):
    """A hook ran out of time and was stopped."""

    code = "hook-timeout"


class ConfigError(HooklineError):
    """The configuration has errors."""

    code = "bad-configuration"
    exit_code = USAGE
    help = "`hookline check` shows them all"


class Untrusted(HooklineError):
    """This repository's hooks are not trusted."""

    code = "untrusted"
    exit_code = USAGE
    help = "look at them, then run `hookline trust`"


class PeopleOnly(HooklineError):
    """This command is for people, not for agents or hooks."""

    code = "people-only"
    exit_code = NEEDS_PERSON
    help = "ask the person you work for to run it"


class NeedsPerson(HooklineError):
    """This cannot go on until a person has acted."""

    code = "needs-person"
    exit_code = NEEDS_PERSON
    help = "`hookline attention` shows what to do"


class StoreError(HooklineError):
    """The store could not be read or written."""

    code = "store"


class StoreBusy(StoreError):
    """Another process kept the store locked for too long."""

    code = "store-busy"
    help = "try again; nothing was changed"


class StoreCorrupt(StoreError):
    """The store is damaged."""

    code = "store-corrupt"
    help = "keep the file, then run `hookline doctor` to see what can be read"


class StoreFull(StoreError):
    """There is no room left to write."""

    code = "disk-full"
    help = "nothing was changed; free some space and run the command again"


class StoreReadOnly(StoreError):
    """The store cannot be written."""

    code = "read-only"
    help = "nothing was changed"


class StoreGone(StoreError):
    """The store was deleted or replaced while it was in use."""

    code = "store-gone"
    help = "what was written since is lost; put the store's file back, or begin anew"


class StoreReplaced(StoreError):
    """This is not the store that you made or adopted here: somebody put another in its place."""

    code = "store-replaced"
    help = (
        "put yours back from a backup; or look at this one with `hookline doctor`, and adopt it"
        " with `hookline trust`"
    )


class LinkedFolder(StoreError):
    """Hookline's own folder, or an entry that only Hookline writes in it, is a link."""

    code = "linked-folder"
    help = "Hookline writes through no link: remove it, or move what it leads to into its place"


class StoreOlder(StoreReadOnly):
    """The store was written by an older Hookline and is not upgraded while it is only read."""

    code = "older-store"
    help = "run a command that writes, such as `hookline task add`, and it is upgraded"


class StoreNewer(StoreError):
    """The store was written by a newer Hookline."""

    code = "newer-store"
    help = "upgrade with `pip install --upgrade hookline`"

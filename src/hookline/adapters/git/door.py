"""The one door to git: builds, starts and bounds every git process of ours.

All of them get the same environment, with a fixed locale, because git's words are read. Those that
only look also run no program that the repository's own settings name, and take no lock.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from hookline.adapters.capture import Capture
from hookline.adapters.repository_locks import MARK, current
from hookline.domain.repository import RepositoryError
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.ports.processes import Processes

LOCAL = 300.0
# Commits, merges and pushes run hooks of git, which may be a whole test suite.
HOOKED = 1800.0
NETWORK = 600.0
LIMIT = 32 * 1024 * 1024
SAID = 4000

# Inherited GIT_* variables would point git at another repository; these only say how to get to a
# server, whose configuration to read, and who commits.
_PASSED = re.compile(
    r"GIT_(SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_\w+|PROXY_\w+|HTTP_\w+|ALLOW_PROTOCOL|EXEC_PATH"
    r"|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|(AUTHOR|COMMITTER)_(NAME|EMAIL))"
)
# No prompt, no editor, no translated words. UTF-8, because hooks of git run in this locale too.
_FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "LC_ALL": "C.UTF-8",
}
_LOOKS = frozenset(
    (
        *("cat-file", "diff", "diff-tree", "for-each-ref", "log", "ls-files", "ls-remote"),
        *("merge-base", "rev-list", "rev-parse", "status", "var"),
    )
)
# A lock on the index would be met by an agent's own git.
_LOOKING = (
    *("--no-optional-locks", "-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
)
_PLAIN = {
    "diff": ("--no-ext-diff", "--no-textconv", "--no-color"),
    "log": ("--no-show-signature", "--no-color"),
}
_SECRET_IN_URL = re.compile(r"(\w+://)[^/@\s]+@")


class Said(NamedTuple):
    """How a git command ended, and what it said: stdout as bytes, stderr as safe text."""

    command: tuple[str, ...]
    code: int
    out: bytes
    err: str
    left_out: int = 0

    @property
    def text(self) -> str:
        """stdout as text, without the line's end."""
        return self.out.decode("utf-8", "surrogateescape").removesuffix("\n")

    @property
    def names(self) -> list[str]:
        """stdout as a list of names that NUL ends."""
        return [os.fsdecode(name) for name in self.out.split(b"\0") if name]

    @property
    def words(self) -> str:
        """What git and its hooks had to say, for people."""
        both = f"{self.out.decode('utf-8', 'replace')}\n{self.err}".strip()
        return cut(hide_secrets(both), SAID)


class NoGit(RepositoryError):
    """There is no git here."""

    help = "install git, and look at PATH"


class GitFailed(RepositoryError):
    """A git command that failed: what could not be done, and how it ended."""

    def __init__(self, doing: str, said: Said, *, help: str | None = None) -> None:
        super().__init__(f"{doing}: git says: {said.words}", help=help)
        self.said = said


class NoRepository(GitFailed):
    """The folder is in no repository."""


class Git:
    """Runs git under one environment."""

    def __init__(self, processes: Processes, environ: Mapping[str, str]) -> None:
        self._processes = processes
        kept = {name: value for name, value in environ.items() if _may_pass(name)}
        self._env = {**kept, **_FIXED}

    async def run(
        self,
        folder: str,
        *args: str,
        doing: str | None = None,
        help: str | None = None,
        stdin: bytes = b"",
        timeout: float = LOCAL,
        limit: int | None = None,
        aside: Mapping[str, str] | None = None,
    ) -> Said:
        """Run git. Its failure is part of the answer; if we say what we are `doing`, an error.

        With a limit the middle of a longer output is left out; without one it is an error.
        `aside` names an index and objects of our own: nothing of the repository changes then.
        """
        act = current.get()
        env = self._env if act is None else {**self._env, MARK: act.mark}
        kept = Capture(half=(limit or LIMIT) // 2)
        argv = _command(args, looks=aside is not None)
        try:
            done = await self._processes.run(
                argv,
                cwd=folder,
                env={**env, **(aside or {})},
                timeout=timeout,
                stdin=stdin,
                on_output=kept.keep,
            )
        except CannotStart as problem:
            raise NoGit(f"{doing}: {problem}" if doing else str(problem)) from problem
        err = cut(hide_secrets(done.stderr).strip(), SAID)
        said = Said(argv, done.exit_code, kept.ends(), err, kept.left_out)
        if done.timed_out or said.code < 0:
            if act is not None:
                act.whole = False
            why = f"timed out after {timeout:g} s" if done.timed_out else "was killed"
            raise GitFailed(f"git {args[0]} {why}", said)
        if said.left_out and limit is None:
            raise RepositoryError(f"git {args[0]} says more than {LIMIT} bytes")
        if said.code and doing is not None:
            outside = "not a git repository" in said.err
            raise (NoRepository if outside else GitFailed)(doing, said, help=help)
        return said


def _command(args: tuple[str, ...], *, looks: bool) -> tuple[str, ...]:
    name, *rest = args
    looking = _LOOKING if looks or name in _LOOKS else ()
    return ("git", "--no-pager", *looking, name, *_PLAIN.get(name, ()), *rest)


def _may_pass(name: str) -> bool:
    return name != "LANGUAGE" and (name[:4] != "GIT_" or bool(_PASSED.fullmatch(name)))


def hide_secrets(text: str) -> str:
    """Text without the name and password that a remote's address may hold."""
    return _SECRET_IN_URL.sub(r"\1***@", text)


def printable(name: str) -> str:
    """A file's name that can be stored and shown, whatever bytes it has."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def cut(text: str, limit: int, *, more: int = 0) -> str:
    """Text of at most about `limit` characters: its beginning and its end.

    `more` is how much was left out of its middle before.
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = len(text) - 2 * half + more
    return f"{text[:half]}\n… {left_out} characters left out …\n{text[-half:]}"

"""The one door to git for everything that works on a repository: builds and runs each command."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from hookline.adapters.repository_locks import MARK, current, exclusive
from hookline.domain.repository import RepositoryError
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

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
# No prompt, no editor, no translated words.
_FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "LANGUAGE": "C",
}
_SECRET_IN_URL = re.compile(r"(\w+://)[^/@\s]+@")


class Said(NamedTuple):
    """How a git command ended, and what it said: stdout as bytes, stderr as safe text."""

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


class _Ends:
    """The beginning and the end of a stream, each of at most half the limit."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self.total = 0
        self.head = bytearray()
        self.tail = bytearray()

    def feed(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._half - len(self.head)
        self.head += chunk[:room]
        self.tail += chunk[room:]
        if len(self.tail) > 2 * self._half:
            del self.tail[: -self._half]

    @property
    def left_out(self) -> int:
        return max(0, self.total - 2 * self._half)

    def whole(self) -> bytes:
        return bytes(self.head + self.tail[-self._half :])


class GitCommands:
    """Runs git in folders of one repository.

    `root` is the project's folder and `folder` its `.hookline`. `base` and `remote` are those
    that the configuration names; an empty `remote` means to use none.
    """

    def __init__(
        self,
        processes: Processes,
        root: str,
        folder: str,
        environ: Mapping[str, str],
        *,
        base: str | None = None,
        remote: str | None = None,
    ) -> None:
        self._processes = processes
        self.root = root
        self.folder = folder
        self._env = {**_clean_environment(environ), **_FIXED}
        self._wanted_base = base
        self._wanted_remote = remote
        self._shared: str | None = None
        self._checked: set[str] = set()

    async def _git(
        self,
        folder: str,
        *args: str,
        stdin: bytes = b"",
        timeout: float = LOCAL,
        limit: int | None = None,
    ) -> Said:
        """Run git; a failure is part of the answer, an end by force is an error.

        With a limit the middle of a longer output is left out; without one it is an error.
        """
        act = current.get()
        env = self._env if act is None else {**self._env, MARK: act.mark}
        kept = _Ends(limit or LIMIT)
        argv = ("git", *args)
        try:
            done = await self._processes.run(
                argv, cwd=folder, env=env, timeout=timeout, stdin=stdin, on_output=kept.feed
            )
        except CannotStart as problem:
            raise RepositoryError(str(problem), help="install git, and look at PATH") from problem
        except asyncio.CancelledError:
            if act is not None:
                act.whole = False
            raise
        if done.timed_out or done.exit_code < 0:
            if act is not None:
                act.whole = False
            why = f"took longer than {timeout:g} s" if done.timed_out else "was killed"
            raise RepositoryError(f"git {args[0]} {why}: {hide_secrets(done.stderr)[-SAID:]}")
        if kept.left_out and limit is None:
            raise RepositoryError(f"git {args[0]} says more than {LIMIT} bytes")
        said = cut(hide_secrets(done.stderr).strip(), SAID)
        return Said(done.exit_code, kept.whole(), said, kept.left_out)

    async def _must(
        self,
        folder: str,
        *args: str,
        doing: str,
        stdin: bytes = b"",
        timeout: float = LOCAL,
        help: str | None = None,
    ) -> Said:
        """Run git; a failure is an error that says what could not be done, and git's words."""
        said = await self._git(folder, *args, stdin=stdin, timeout=timeout)
        if said.code:
            raise RepositoryError(f"{doing}: git says: {said.words}", help=help)
        return said

    async def _sha(self, folder: str, name: str) -> str | None:
        """The commit that a full ref or a hash names; None when there is none."""
        if name.startswith("-") or any(c.isspace() for c in name):
            return None
        said = await self._git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return said.text or None if not said.code else None

    async def _is_ancestor(self, folder: str, older: str, newer: str) -> bool:
        said = await self._git(folder, "merge-base", "--is-ancestor", older, newer)
        return said.code == 0

    async def _common(self) -> str:
        """The git folder that all worktrees of the repository share."""
        if self._shared is None:
            doing = f"{self.root} is not in a repository"
            said = await self._must(
                self.root, "rev-parse", "--git-common-dir", doing=doing, help="run `git init`"
            )
            self._shared = os.path.realpath(os.path.join(self.root, said.text))
        return self._shared

    async def _exclusive(self, name: str) -> AbstractAsyncContextManager[None]:
        """The lock of that name: `async with await self._exclusive("merge"):`."""
        return exclusive(await self._common(), name)


def _clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith("GIT_") or _PASSED.fullmatch(name)
    }


def hide_secrets(text: str) -> str:
    """Text without the name and password that a remote's address may hold."""
    return _SECRET_IN_URL.sub(r"\1***@", text)


def cut(text: str, limit: int, *, more: int = 0) -> str:
    """Text of at most about `limit` characters: its beginning and its end.

    `more` is how much was left out of its middle before.
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = len(text) - 2 * half + more
    return f"{text[:half]}\n… {left_out} characters left out …\n{text[-half:]}"

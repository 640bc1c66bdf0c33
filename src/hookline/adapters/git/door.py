"""The one door to git: builds, starts and bounds every git process.

All of them get the same environment, with a fixed locale, because git's words are read, and are
told which checkout to work in. Those that only look also run no program that the repository's own
settings name, and take no lock; where the repository is not trusted, no other git runs.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from hookline.adapters.git.checkout import NoRepository
from hookline.adapters.git.repository.locks import MARK, current
from hookline.adapters.processes.capture import Capture
from hookline.domain.text.excerpts import without_middle
from hookline.domain.work.repository import RepositoryError
from hookline.errors import Untrusted
from hookline.files import bytes_of, safe_environment
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookline.adapters.git.checkout import Checkout
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
# No object stands in for another: what gates see and tests try is what is merged and pushed.
_FIXED = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null/none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "LC_ALL": "C.UTF-8",
}
_LOOKS = frozenset(
    "cat-file check-attr check-ref-format diff diff-tree for-each-ref grep log ls-files merge-base"
    " rev-list rev-parse status var".split()
)
# Commands that look only when they are asked like this.
_LOOKS_SO = (
    *(("config", "--null"), ("config", "-z"), ("remote", "get-url")),
    *(("symbolic-ref", "--quiet"), ("worktree", "list")),
)
# Commands that write and run no hook which may work in another repository.
_HOOKLESS = frozenset("add hash-object read-tree reset stash update-index write-tree".split())
# An agent can write the configuration that all worktrees share. These are programs that nobody
# needs here; hooks, filters, signatures and logins are the user's, and run where git writes.
_ALWAYS = (
    *("-c", "core.fsmonitor=false", "-c", "core.alternateRefsCommand=true"),
    *("-c", "protocol.ext.allow=never"),
    # A file that was changed is seen to be, whatever its size and time say.
    *("-c", "core.checkStat=default", "-c", "core.trustctime=true", "-c", "core.ignoreStat=false"),
    # Commits are read as they are, and not as a file says that is there to save time.
    *("-c", "core.commitGraph=false"),
)
# Git tidies up after a commit, which every task has; after all else it would only look for work.
_NO_UPKEEP = ("-c", "maintenance.auto=false")
# Submodules have their own repositories, and are updated separately.
ALONE = ("-c", "submodule.recurse=false")
# What Hookline took out of a worktree is kept here.
RESCUED = "refs/hookline/rescued/"
# The folders that git keeps while it rebases.
REBASES = ("rebase-merge", "rebase-apply")
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
# A lock on the index would be met by an agent's own git.
_LOOKING = ("--no-optional-locks", *_NO_HOOKS)
_PLAIN = {
    "diff": ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short"),
    "log": ("--no-show-signature", "--no-color"),
}
# Filters run when git compares files, and a submodule has its own settings.
_COMPARES = ("diff", "status")
_FILTERS = ("clean", "smudge", "process")
# What git tells by its words alone.
NO_REPOSITORY = "not a git repository"
DAMAGED = "error:"
# Git fetches nothing while a worktree is being made, or was left half made.
HALF_MADE = "bad object worktrees/"
_HOOK_SECTION = re.compile(rb"\[\s*(hook|include)", re.IGNORECASE)
_SECRET_IN_URL = re.compile(r"(\w+://)[^/@\s]+@")


class GitReply(NamedTuple):
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
        return without_middle(hide_secrets(both), SAID)


class NoGit(RepositoryError):
    """There is no git here."""

    help = "install git, or add it to PATH"


class GitFailed(RepositoryError):
    """A git command that failed: what could not be done, and how it ended."""

    def __init__(self, doing: str, said: GitReply, *, help: str | None = None) -> None:
        super().__init__(f"{doing}: git says: {said.words}", help=help)
        self.said = said


class Git:
    """Runs git under one environment; in a repository that is not trusted it only looks."""

    def __init__(
        self, processes: Processes, environ: Mapping[str, str], *, trusted: bool = True
    ) -> None:
        self._processes = processes
        kept = {name: value for name, value in environ.items() if _may_pass(name)}
        self._env = {**safe_environment(kept), **_FIXED}
        self._trusted = trusted
        self._allowed: set[Checkout] = set()

    async def run(
        self,
        at: Checkout,
        *args: str,
        doing: str | None = None,
        help: str | None = None,
        stdin: bytes = b"",
        timeout: float = LOCAL,
        limit: int | None = None,
        aside: Mapping[str, str] | None = None,
        as_writer: bool = False,
        hooks: bool = True,
    ) -> GitReply:
        """Run git. Its failure is part of the answer; if we say what we are `doing`, an error.

        With a limit the middle of a longer output is left out; without one it is an error.
        `aside` names an index and objects of our own, or whose work it is: nothing of the
        repository changes then but what objects it has.
        `as_writer` looks at the checkout as a git sees it that writes there.
        Without `hooks` no hook of git has a say in the result.
        """
        looks = only_looks(args)
        if not (looks or self._trusted):
            raise Untrusted(f"git {args[0]} runs only in a repository that you trust")
        await self._check_owner(at)
        plain = aside is not None or (looks and not as_writer)
        place = _place(at, runs_hooks=not plain and hooks and not _is_hookless(args))
        env = {**self._env, **place, **(aside or {})}
        if not hooks:
            env |= await self._without_hooks(at)
        if not self._trusted:
            env |= await self._without_programs(at, args[0])
        argv = _command(args, looks=plain, trusted=self._trusted, hooks=hooks)
        try:
            said = await self._start(argv, at.top, env, stdin, timeout, limit or LIMIT)
        except NoGit as problem:
            raise NoGit(f"{doing}: {problem.message}" if doing else problem.message) from problem
        if said.left_out and limit is None:
            raise RepositoryError(f"git {args[0]} printed more than {LIMIT} bytes")
        if said.code and doing is not None:
            if NO_REPOSITORY in said.err:
                raise NoRepository(f"{doing}: git says: {said.words}", help=help)
            raise GitFailed(doing, said, help=help)
        return said

    async def _start(
        self,
        argv: tuple[str, ...],
        folder: str,
        env: Mapping[str, str],
        stdin: bytes = b"",
        timeout: float = LOCAL,
        limit: int = LIMIT,
    ) -> GitReply:
        act = current.get()
        kept = Capture(half=limit // 2)
        try:
            done = await self._processes.run(
                argv,
                cwd=folder,
                env=env if act is None else {**env, MARK: act.mark},
                timeout=timeout,
                stdin=stdin,
                on_output=kept.keep,
            )
        except CannotStart as problem:
            raise NoGit(str(problem)) from problem
        err = without_middle(hide_secrets(done.stderr).strip(), SAID)
        said = GitReply(argv, done.exit_code, kept.ends(), err, kept.left_out)
        if done.timed_out or said.code < 0:
            if act is not None:
                act.whole = False
            why = f"timed out after {timeout:g} s" if done.timed_out else "was killed"
            raise GitFailed(f"git {_name(argv)} {why}", said)
        return said

    async def _check_owner(self, at: Checkout) -> None:
        """Let git check whose repository it is: it does so only where it looks for one."""
        if at in self._allowed or not any(map(_is_anothers, (at.top, at.git_dir))):
            return
        bound = {"GIT_CEILING_DIRECTORIES": os.path.dirname(at.top)}
        argv = _command(("rev-parse", "--git-dir"), looks=True, trusted=False)
        said = await self._start(argv, at.top, {**self._env, **bound})
        if said.code:
            raise GitFailed(f"{at.top} belongs to another user", said)
        self._allowed.add(at)

    async def _without_programs(self, at: Checkout, name: str) -> dict[str, str]:
        """What keeps git from running what an untrusted repository names where files differ."""
        env = {"GIT_ALLOW_PROTOCOL": "none"}  # no object is fetched that is missing here
        if name not in _COMPARES:
            return env
        filters = await self._sections(at, "filter")
        settings = [(f"{each}.{key}", "") for each in filters for key in _FILTERS]
        settings += [(f"{each}.required", "false") for each in filters]
        return {**env, **self._set(settings)}

    async def _without_hooks(self, at: Checkout) -> dict[str, str]:
        """What switches off hooks that settings name, which newer gits run besides the folder's.

        Git is asked for their names only where the repository's own files can have some.
        """
        if not any(_HOOK_SECTION.search(bytes_of(path, LIMIT)) for path in own_settings(at)):
            return {}
        hooks = await self._sections(at, "hook")
        return self._set([(f"{each}.enabled", "false") for each in hooks])

    async def _sections(self, at: Checkout, kind: str) -> list[str]:
        """The sections of that kind that settings name, such as `filter.lfs`."""
        asked = ("config", "--null", "--name-only", "--get-regexp", rf"^{kind}\..*\.")
        argv = _command(asked, looks=True, trusted=False)
        found = await self._start(argv, at.top, {**self._env, **_place(at)})
        return sorted({key.rpartition(".")[0] for key in found.names})

    def _set(self, settings: list[tuple[str, str]]) -> dict[str, str]:
        """An environment in which git has these settings, whatever their names hold."""
        count = int(self._env.get("GIT_CONFIG_COUNT") or 0)
        env = {"GIT_CONFIG_COUNT": str(count + len(settings))}
        for number, (key, value) in enumerate(settings, count):
            env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return env


def only_looks(args: tuple[str, ...]) -> bool:
    """Whether a git command changes nothing and runs no hook."""
    if args[0] in _LOOKS:
        return "--filters" not in args
    return args[:2] in _LOOKS_SO


def _is_hookless(args: tuple[str, ...]) -> bool:
    return _name(("git", *args)) in _HOOKLESS


def own_settings(at: Checkout) -> tuple[str, ...]:
    """The files of a repository's own settings."""
    shared = (os.path.join(at.common, name) for name in ("config", "config.worktree"))
    return (*shared, os.path.join(at.git_dir, "config.worktree"))


def _is_anothers(path: str) -> bool:
    try:
        return os.stat(path).st_uid != os.geteuid()
    except FileNotFoundError:  # about to be made
        return False


def _place(at: Checkout, *, runs_hooks: bool = False) -> dict[str, str]:
    """Where git works. Hooks inherit it, and may work in other repositories.

    So what may run hooks is told the git folder alone, as git itself tells them, and is started at
    the top of the work tree, which is verified before. All else is told the work tree, too.
    """
    if runs_hooks:
        return {"GIT_DIR": at.git_dir}
    shared = {"GIT_COMMON_DIR": at.common} if at.is_linked else {}
    return {"GIT_DIR": at.git_dir, "GIT_WORK_TREE": at.top, **shared}


def _command(
    args: tuple[str, ...], *, looks: bool, trusted: bool, hooks: bool = True
) -> tuple[str, ...]:
    name, *rest = args
    looking = _LOOKING if looks else () if hooks else _NO_HOOKS
    plain = _PLAIN.get(name, ())
    if name in _COMPARES and not trusted:
        plain = (*plain, "--ignore-submodules=dirty")
    upkeep = () if name == "commit" else _NO_UPKEEP
    return ("git", "--no-pager", *_ALWAYS, *upkeep, *looking, name, *plain, *rest)


def _name(argv: tuple[str, ...]) -> str:
    """The command among the words of a call of git."""
    rest = iter(argv[1:])
    for word in rest:
        if word == "-c":
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""


def _may_pass(name: str) -> bool:
    return name != "LANGUAGE" and (name[:4] != "GIT_" or bool(_PASSED.fullmatch(name)))


def hide_secrets(text: str) -> str:
    """Text without the name and password that a remote's address may hold."""
    return _SECRET_IN_URL.sub(r"\1***@", text)


def nul(names: Iterable[str]) -> bytes:
    """Names as git reads them, each with NUL at its end."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def printable(name: str) -> str:
    """A file's name that can be stored and shown, whatever bytes it has."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

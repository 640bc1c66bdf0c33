"""The demo's temporary repository, and the commands that are typed in it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import textwrap
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

import hookline
from hookline.adapters.git.checkout import Checkout
from hookline.adapters.git.door import Git
from hookline.adapters.identity import kill_group
from hookline.adapters.process import LocalProcesses
from hookline.adapters.store.database import Database
from hookline.errors import HooklineError, StoreError
from hookline.ports.processes import ProcessGroup
from hookline.surfaces.cli.output import is_terminal, paint, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hookline.surfaces.cli.demo_script import Step, Typed

WIDEST, NARROWEST = 80, 30
TIMEOUT = 120.0
_FILES = os.path.join(os.path.dirname(hookline.__file__), "demo")
_LEFT_OUT = shutil.ignore_patterns("__init__.py", "__pycache__")
_SHELL = ("/bin/sh", "-c", 'exec "$@" 2>&1', "demo")
_GIT = (
    ("init", "--quiet"),
    ("symbolic-ref", "HEAD", "refs/heads/main"),
    ("config", "user.name", "Hookline's demo"),
    ("config", "user.email", "demo@localhost"),
    ("add", "--all"),
    ("commit", "--quiet", "--message", "A project without any code"),
)


class Shown(msgspec.Struct, rename="camel"):
    """A command of the demo, as `--json` shows it."""

    command: str
    exit_code: int
    output: str


class Stage:
    """The temporary repository, and the commands that are typed in it."""

    def __init__(self, folder: str, *, quiet: bool) -> None:
        self.folder = folder
        self.root = os.path.join(folder, "repository")
        self.database = _database(folder)
        self.quiet = quiet
        self.shown: list[Shown] = []
        self._processes = LocalProcesses(os.path.join(folder, "blobs"))
        self._env = _environment(folder)
        self._git = Git(self._processes, self._env)
        own = os.path.join(self.root, ".git")
        self._checkout = Checkout(self.root, own, own)
        self._width = _width()

    def furnish(self) -> None:
        """The files of a small project."""
        shutil.copytree(_FILES, self.root, ignore=_LEFT_OUT)
        with open(os.path.join(self.root, ".gitignore"), "w", encoding="utf-8") as file:
            file.write(".hookline/\n")

    async def make_repository(self) -> None:
        """A git repository with that project in it."""
        for words in _GIT:
            await self._git.run(
                self._checkout, *words, doing="the demo needs git", help="install git 2.38 or newer"
            )

    async def is_on_main(self, sha: str) -> bool:
        """Whether a commit is part of the branch main."""
        said = await self._git.run(self._checkout, "merge-base", "--is-ancestor", sha, "main")
        return said.code == 0

    async def play(self, step: Step) -> None:
        """Tell what comes, type its commands, show what they print."""
        self.tell(step.title, "bold")
        for line in step.explanation:
            self.tell(line)
        for typed in step.commands:
            await self._type(typed)
        self.tell()

    def tell(self, text: str = "", style: str | None = None) -> None:
        """A line for the person who watches."""
        for part in fit(text, self._width, wrap=True) if not self.quiet else ():
            say(paint(part, style) if style else part)
        sys.stdout.flush()  # a command that takes its time is seen while it runs

    async def _type(self, typed: Typed) -> None:
        line = shlex.join(typed.words)
        self.tell(f"$ {line}", "cyan")

        def show(each: str) -> None:
            for part in fit(each, self._width - 2, wrap=typed.wrap):
                self.tell(f"  {part}")

        code, output = await self.run(typed.words, show)
        self.shown.append(Shown(line, code, output))
        if code not in typed.codes:
            raise HooklineError(
                f"the demo went wrong: `{line}` ended with {code}",
                help="please report this with the output above",
            )

    async def run(
        self, words: tuple[str, ...], show: Callable[[str], None] = lambda line: None
    ) -> tuple[int, str]:
        """Run a command line in the repository; its exit code and all that it printed."""
        # -P: a file of the repository must not stand in for a module of Hookline's.
        own = (sys.executable, "-P", "-m", "hookline", *words[1:])
        argv = (*_SHELL, *(own if words[0] == "hookline" else words))
        lines = _Lines(show)
        done = await self._processes.run(
            argv, cwd=self.root, env=self._env, timeout=TIMEOUT, on_output=lines.take
        )
        lines.take(b"")
        return done.exit_code, done.stdout


class _Lines:
    """Output in pieces, shown line by line as it comes."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._rest = b""

    def take(self, data: bytes) -> None:
        """A piece of output; an empty one ends it."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data and self._rest:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            self._show(line.decode("utf-8", "replace"))


def _width() -> int:
    if not is_terminal(sys.stdout):
        return WIDEST
    with suppress(OSError):  # a terminal that does not know its size
        found = os.get_terminal_size(sys.stdout.fileno()).columns
        return min(WIDEST, max(NARROWEST, found - 1)) if found else WIDEST
    return WIDEST


def fit(line: str, width: int, *, wrap: bool) -> list[str]:
    """A line of output in the width of the demo: cut, or continued below."""
    if len(line) <= width:
        return [line]
    if not wrap:
        return [line[: width - 1] + "…"]
    indent = min(len(line) - len(line.lstrip(" ")), width // 2)
    below = " " * (indent + 4)
    return textwrap.wrap(line, width, subsequent_indent=below, break_on_hyphens=False)


def _environment(folder: str) -> Mapping[str, str]:
    """The user's environment without what would lead the demo elsewhere."""
    names = [n for n in os.environ if not n.startswith(("HOOKLINE_", "GIT_"))]
    own = {
        "HOOKLINE_HOME": os.path.join(folder, "home"),
        # Settings of git such as signed commits belong to the user's own work.
        "HOME": folder,
        "XDG_CONFIG_HOME": os.path.join(folder, "config"),
        "USER": os.environ.get("USER") or "you",
    }
    return {**{name: os.environ[name] for name in names}, **own}


@contextmanager
def stage_folder(*, keep: bool) -> Iterator[str]:
    """A temporary folder, gone at the end unless it is kept."""
    try:
        folder = tempfile.mkdtemp(prefix="hookline-demo-")
    except OSError as problem:
        raise HooklineError(
            f"cannot make a temporary folder: {problem.strerror}",
            help="name a folder that can be written with TMPDIR",
        ) from problem
    try:
        yield folder
    finally:
        _end_children(_database(folder))
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _database(folder: str) -> str:
    return os.path.join(folder, "repository", ".hookline", "hookline.db")


def _end_children(path: str) -> None:
    """After a ^C: what was killed had agents and hooks running in groups of their own."""
    if not os.path.exists(path):
        return
    running = (
        "SELECT child FROM deliveries WHERE child IS NOT NULL"
        " UNION ALL SELECT child FROM effects WHERE child IS NOT NULL"
    )
    with suppress(StoreError):  # killed while it was made: then nothing has run yet
        database = Database(path, read_only=True)
        with database.snapshot() as connection:
            for (child,) in connection.execute(running):
                kill_group(msgspec.json.decode(child, type=ProcessGroup))
        database.close()

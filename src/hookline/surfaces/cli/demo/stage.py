"""The demo's temporary repository, and running commands in it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

import hookline
from hookline.domain.text.terminal import cut
from hookline.errors import HooklineError
from hookline.programs import own_program
from hookline.surfaces.cli.output import paint, say, wrapped
from hookline.wiring.working.demo import demo_git, demo_processes, end_children

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hookline.surfaces.cli.demo.script import DemoStep, Typed

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
    ("commit", "--quiet", "--message", "Initial commit"),
)


class ShownCommand(msgspec.Struct, rename="camel"):
    """A command of the demo, as `--json` shows it."""

    command: str
    exit_code: int
    output: str


class Stage:
    """The temporary repository, and running commands in it."""

    def __init__(self, folder: str, *, quiet: bool) -> None:
        self.folder = folder
        self.root = os.path.join(folder, "repository")
        self.database = _database(folder)
        self.quiet = quiet
        self.shown: list[ShownCommand] = []
        self._processes = demo_processes(folder)
        self._env = _environment(folder)
        self._git = demo_git(self._processes, self._env, self.root)
        self._width = _width()

    def furnish(self) -> None:
        """Copy the files of a small project."""
        shutil.copytree(_FILES, self.root, ignore=_LEFT_OUT)
        with open(os.path.join(self.root, ".gitignore"), "w", encoding="utf-8") as file:
            file.write(".hookline/\n")

    async def make_repository(self) -> None:
        """Make the project a git repository."""
        for words in _GIT:
            await self._git(*words, doing="the demo needs git", help="install git 2.38 or newer")

    async def is_on_main(self, sha: str) -> bool:
        """Whether a commit is part of the branch main."""
        said = await self._git("merge-base", "--is-ancestor", sha, "main")
        return said.code == 0

    async def play(self, step: DemoStep) -> None:
        """Print the explanation of a step, run its commands and show their output."""
        self.tell(step.title, "bold")
        for line in step.explanation:
            self.tell(line)
        for typed in step.commands:
            await self._type(typed)
        self.tell()

    def tell(self, text: str = "", style: str | None = None) -> None:
        """Print a line, unless the demo is quiet."""
        if not self.quiet:
            hang = len(text) - len(text.lstrip(" ")) + 4
            for part in wrapped(text, self._width, hang).split("\n"):
                say(paint(part, style) if style else part)
        sys.stdout.flush()  # show a slow command while it runs

    async def _type(self, typed: Typed) -> None:
        line = shlex.join(typed.words)
        self.tell(f"$ {line}", "cyan")

        def show(each: str) -> None:
            self.tell(f"  {each if typed.wrap else cut(each, self._width - 2)}")

        code, output = await self.run(typed.words, show)
        self.shown.append(ShownCommand(line, code, output))
        if code not in typed.codes:
            help = "please report this with the output above"
            raise HooklineError(f"the demo failed: `{line}` exited {code}", help=help)

    async def run(
        self, words: tuple[str, ...], show: Callable[[str], None] = lambda line: None
    ) -> tuple[int, str]:
        """Run a command line in the repository; return its exit code and output."""
        # -P: no file in the repository can replace one of Hookline's modules.
        own = own_program("hookline", *words[1:])
        argv = (*_SHELL, *(own if words[0] == "hookline" else words))
        lines = _OutputLines(show)
        done = await self._processes.run(
            argv, cwd=self.root, env=self._env, timeout=TIMEOUT, on_output=lines.take
        )
        lines.take(b"")
        return done.exit_code, done.stdout


class _OutputLines:
    """Splits output into lines, and shows each as soon as it is complete."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._rest = b""

    def take(self, data: bytes) -> None:
        """Take a piece of output; an empty one is the end."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data and self._rest:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            self._show(line.decode("utf-8", "replace"))


def _width() -> int:
    found = 0
    with suppress(OSError):  # not a terminal, or one of unknown size
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    return min(WIDEST, max(NARROWEST, found - 1)) if found else WIDEST


def _environment(folder: str) -> Mapping[str, str]:
    """The user's environment, without variables that point to other projects or repositories."""
    elsewhere = ("HOOKLINE_", "GIT_")
    users = {name: value for name, value in os.environ.items() if not name.startswith(elsewhere)}
    return {
        **users,
        "HOOKLINE_HOME": os.path.join(folder, "home"),
        # The user's git settings, such as signed commits, do not apply to the demo.
        "HOME": folder,
        "XDG_CONFIG_HOME": os.path.join(folder, "config"),
        "USER": os.environ.get("USER") or "you",
    }


@contextmanager
def stage_folder(*, keep: bool) -> Iterator[str]:
    """A temporary folder, deleted at the end unless it is kept."""
    try:
        folder = tempfile.mkdtemp(prefix="hookline-demo-")
    except OSError as problem:
        raise HooklineError(
            f"cannot create a temporary folder: {problem.strerror}",
            help="set TMPDIR to a folder that you can write to",
        ) from problem
    try:
        yield folder
    finally:
        end_children(_database(folder))
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _database(folder: str) -> str:
    return os.path.join(folder, "repository", ".hookline", "hookline.db")

"""`hookline demo`: the real commands, typed and explained in a temporary repository.

No key, no network, and nothing of the user's is touched: the demo has a home of its own.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import tempfile
import textwrap
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

import hookline
from hookline.adapters import git
from hookline.adapters.identity import kill_group
from hookline.adapters.process import LocalProcesses
from hookline.adapters.store.database import Database
from hookline.errors import FAILED, HooklineError, StoreError
from hookline.ports import ProcessGroup
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.demo_script import SCRIPT, Step, Typed, fill
from hookline.surfaces.cli.demo_server import Webhook
from hookline.surfaces.cli.output import paint, say, say_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping

WIDTH = 80
PORT = "8000"  # as it stands in the demo's hookline.yaml; a free one takes its place
TIMEOUT = 60.0
_FILES = os.path.join(os.path.dirname(hookline.__file__), "demo")
_SHELL = ("/bin/sh", "-c", 'exec "$@" 2>&1', "demo")


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
        self.quiet = quiet
        self.shown: list[Shown] = []
        self._processes = LocalProcesses(os.path.join(folder, "blobs"))
        self._env = _environment(folder)

    async def make_repository(self) -> None:
        """A git repository, where there is git."""
        await git.init(self._processes, self.root, self._env)

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
        if not self.quiet:
            say(paint(text, style) if style else text)
            sys.stdout.flush()  # a command that takes its time is seen while it runs

    async def _type(self, typed: Typed) -> None:
        words = [await self._seq(word) for word in typed.words]
        line = shlex.join(words)
        self.tell(f"{paint('$', 'dim')} {paint(line, 'cyan')}")
        code, output = await self.run(words)
        self.shown.append(Shown(line, code, output))
        for each in output.splitlines():
            for part in fit(each, wrap=typed.wrap):
                self.tell(f"  {part}")
        if code not in typed.codes:
            raise HooklineError(
                f"the demo went wrong: `{line}` ended with {code}",
                help="please report this with the output above",
            )

    async def run(self, words: list[str]) -> tuple[int, str]:
        """Run a command line in the repository; its exit code and all that it printed."""
        # -P: a file of the repository must not stand in for a module of Hookline's.
        own = [sys.executable, "-P", "-m", "hookline", *words[1:]]
        argv = (*_SHELL, *(own if words[0] == "hookline" else words))
        done = await self._processes.run(argv, cwd=self.root, env=self._env, timeout=TIMEOUT)
        return done.exit_code, done.stdout

    async def _seq(self, word: str) -> str:
        """`@task_started` becomes the place of that event in the log."""
        if not word.startswith("@"):
            return word
        _, output = await self.run(["hookline", "events", "--type", word[1:], "--json"])
        return str(msgspec.json.decode(output)[0]["seq"])


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--keep", action="store_true", help="leave the folder, and say where")


def _demo(args: Namespace) -> int:
    started = time.monotonic()
    with _folder(keep=args.keep) as folder, Webhook() as webhook:
        stage = Stage(folder, quiet=args.json)
        try:
            asyncio.run(_perform(stage, webhook))
        except HooklineError:
            if not args.json:
                raise
            say_json({"ok": False, "folder": None, "steps": stage.shown})
            return FAILED
        seconds = time.monotonic() - started
        if args.json:
            kept = stage.root if args.keep else None
            answer = {"ok": True, "folder": kept, "seconds": round(seconds, 1)}
            say_json({**answer, "webhook": webhook.received, "steps": stage.shown})
        else:
            _end(stage, seconds, keep=args.keep)
    return 0


async def _perform(stage: Stage, webhook: Webhook) -> None:
    _furnish(stage.root, webhook.port)
    stage.tell("Hookline in one minute: tasks, events, and hooks that react to them.", "bold")
    stage.tell("Everything here is real and happens in a temporary repository.")
    stage.tell()
    await stage.make_repository()
    for step in SCRIPT:
        await stage.play(fill(step, webhook.received))


def _furnish(root: str, port: int) -> None:
    os.makedirs(root)
    for name in ("hookline.yaml", "measure.sh", "team.py"):
        with open(os.path.join(_FILES, name), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(root, name), "w", encoding="utf-8") as file:
            file.write(text.replace(f":{PORT}/", f":{port}/"))
    os.chmod(os.path.join(root, "measure.sh"), 0o700)


def _environment(folder: str) -> Mapping[str, str]:
    names = [n for n in os.environ if not n.startswith(("HOOKLINE_", "GIT_"))]
    own = {"HOOKLINE_HOME": os.path.join(folder, "home"), "USER": os.environ.get("USER") or "you"}
    return {**{name: os.environ[name] for name in names}, **own}


@contextmanager
def _folder(*, keep: bool) -> Iterator[str]:
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
        _end_hooks(os.path.join(folder, "repository", ".hookline", "hookline.db"))
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _end_hooks(path: str) -> None:
    """After a ^C: the command that was killed had hooks running in groups of their own."""
    if not os.path.exists(path):
        return
    running = "SELECT child FROM deliveries WHERE child IS NOT NULL"
    with suppress(StoreError):  # killed while it was made: then no hook has run yet
        database = Database(path, read_only=True)
        with database.snapshot() as connection:
            for (child,) in connection.execute(running):
                kill_group(msgspec.json.decode(child, type=ProcessGroup))
        database.close()


def fit(line: str, *, wrap: bool) -> list[str]:
    """A line of output in the width of the demo: cut, or continued below."""
    if len(line) <= WIDTH - 2:
        return [line]
    if not wrap:
        return [line[: WIDTH - 3] + "…"]
    indent = len(line) - len(line.lstrip(" "))
    below = " " * (indent + 4)
    return textwrap.wrap(line, WIDTH - 2, subsequent_indent=below, break_on_hyphens=False)


def _end(stage: Stage, seconds: float, *, keep: bool) -> None:
    say(paint("What to try next", "bold"))
    say("  hookline init       set it up in a repository of your own")
    say("  hookline points     every place where a hook can stand")
    say("  hookline doctor     is everything as it should be?")
    say()
    if keep:
        say(f"The repository is in {stage.root}; there, use it with")
        say(f"  export HOOKLINE_HOME={os.path.join(stage.folder, 'home')}")
    else:
        say(f"That took {seconds:.1f} s, and the temporary repository is gone again;")
        say("`hookline demo --keep` leaves it for you to look at.")


COMMANDS = {"demo": Command("see it work in a temporary repository", _arguments, _demo)}

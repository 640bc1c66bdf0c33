"""A command of Hookline inside the test's own process, which costs a call instead of a start.

It has the environment, the folder, the streams and the import path of its own that a process
would have; when it ends, everything is put back. What only a process has, such as signals, a
terminal or its own death, needs a real one.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from subprocess import CompletedProcess
from typing import IO, TYPE_CHECKING

import hookline
from hookline.surfaces.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

_INSTALLED = (sys.prefix, sys.base_prefix, *hookline.__path__)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)


def run_in_process(
    words: Sequence[str | bytes],
    *,
    cwd: Path | str,
    env: Mapping[str, str],
    stdin: bytes = b"",
    together: bool = False,
) -> CompletedProcess[str]:
    """Run one command to its end as `hookline` would; `together` has its stderr in its stdout."""
    with ExitStack() as put_back:
        files = [put_back.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        if together:
            files[2] = files[1]
        files[0].write(stdin)
        files[0].seek(0)
        put_back.enter_context(_signals())
        put_back.enter_context(place(cwd, env))
        put_back.enter_context(_imports(env))
        with _streams(files):
            code = _run([os.fsdecode(word) for word in words])
        return CompletedProcess(words, code, _content(files[1]), _content(files[2]))


@contextmanager
def place(cwd: Path | str, env: Mapping[str, str]) -> Iterator[None]:
    """Be in the folder and have the environment that a process would have been given."""
    with _folder(cwd), _environment(env):
        yield


def _run(words: list[str]) -> int:
    try:
        return main.run(words)
    except SystemExit as end:  # as argparse ends after --help
        return int(end.code or 0)


@contextmanager
def _streams(files: Sequence[IO[bytes]]) -> Iterator[None]:
    """Put files in the place of stdin, stdout and stderr, for Python and for what it starts."""
    mine = (sys.stdin, sys.stdout, sys.stderr)
    for stream in mine[1:]:
        stream.flush()
    kept = [os.dup(number) for number in range(3)]
    try:
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # closed below
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(  # noqa: SIM115
            2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
        )
        yield
    finally:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            stream.close()
        sys.stdin, sys.stdout, sys.stderr = mine
        for number, original in enumerate(kept):
            os.dup2(original, number)
            os.close(original)


@contextmanager
def _folder(path: Path | str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _environment(env: Mapping[str, str]) -> Iterator[None]:
    before, folder = dict(os.environ), tempfile.tempdir
    try:
        _become(env)
        tempfile.tempdir = None  # it is found once, and TMPDIR is another now
        yield
    finally:
        _become(before)
        tempfile.tempdir = folder


def _become(env: Mapping[str, str]) -> None:
    now = dict(os.environ)
    for name in now.keys() - env.keys():
        del os.environ[name]
    os.environ.update(env.items() - now.items())


@contextmanager
def _imports(env: Mapping[str, str]) -> Iterator[None]:
    """Import as a new `hookline` would, and forget afterwards what was not installed."""
    path, prefix, known = list(sys.path), sys.pycache_prefix, set(sys.modules)
    sys.path[:0] = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:], sys.pycache_prefix = path, prefix
        for name in set(sys.modules) - known:
            if not _is_installed(sys.modules[name]):
                del sys.modules[name]


def _is_installed(module: ModuleType) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return all(place.startswith(_INSTALLED) for place in places if place)


@contextmanager
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()

"""Test files that a validation rule lets an agent edit: plain arguments of a known test runner.

Everything else that a rule names is as it was trusted: programs, scripts, configuration.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from hookline.files import entry_at, read_regular
from hookline.project import FOLDER_NAME

# What may come before a runner, and the runners that take test files as arguments.
_BEFORE = (
    *(("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("pipenv", "run")),
    *(("python", "-m"), ("python3", "-m"), ("npx",), ("pnpm", "exec"), ("bunx",), ("yarn",)),
)
_RUNNERS = frozenset("pytest py.test unittest vitest jest mocha ava rspec phpunit".split())
_SUBCOMMANDS = frozenset(("run", "watch"))
_ENDINGS = (".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".php")
# They steer the runner, whatever they are called by the line.
_STEERING = frozenset("conftest.py setup.py noxfile.py tasks.py manage.py spec_helper.rb".split())
# What pytest reads besides a test, in the folder of the test and in those above it.
_PYTEST = ("conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml")
# A line with any of these is more than one plain command.
_SHELL = frozenset(";|&()<>`$\"'\\{}*?[]~#\n")


def followed_files(root: str, line: str) -> list[str]:
    """The test files that a line names and that may be edited, each as it is written there."""
    return [name for name in _arguments(line) if _is_plain_test(root, name)]


def steering_files(root: str, line: str) -> list[str]:
    """The files that would steer pytest on such a line, whether they are there or not."""
    tests = [os.path.normpath(name) for name in followed_files(root, line) if name[-3:] == ".py"]
    folders = {folder for name in tests for folder in _folders_above(name)}
    return [os.path.normpath(f"{folder}/{name}") for folder in sorted(folders) for name in _PYTEST]


def _folders_above(name: str) -> Iterator[str]:
    while name:
        name = os.path.dirname(name)
        yield name or "."


def without_followed(root: str, line: str) -> str:
    """A line without the words that name such files; the rest is what trust covers."""
    followed = set(followed_files(root, line))
    if not followed:
        return line
    return " ".join(word for word in line.split() if _file_of(word) not in followed)


def _arguments(line: str) -> list[str]:
    """The words of a plain line that its test runner takes as files; none if it has no runner."""
    words = [] if _SHELL & set(line) else line.split()
    for before in (*_BEFORE, ()):
        rest = words[len(before) :]
        if tuple(words[: len(before)]) != before or not rest:
            continue
        if rest[0] in _RUNNERS:
            given = rest[2:] if rest[1:2] and rest[1] in _SUBCOMMANDS else rest[1:]
            return _plain(given)
        if rest[:2] == ["node", "--test"]:
            return _plain(rest[2:])
    return []


def _plain(words: list[str]) -> list[str]:
    """Words that are not options, and follow none: an option may take the next word."""
    pairs = zip(["", *words], words, strict=False)
    found = [word for before, word in pairs if not word.startswith("-") and _takes_none(before)]
    return list(dict.fromkeys(map(_file_of, found)))


def _takes_none(option: str) -> bool:
    return not option.startswith("-") or "=" in option or option in ("-q", "-v", "-x", "--")


def _file_of(word: str) -> str:
    """`tests/test_a.py::test_b` names a file, too."""
    return word.partition("::")[0]


def _is_plain_test(root: str, name: str) -> bool:
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or FOLDER_NAME in parts:
        return False
    base = parts[-1]
    if not base.endswith(_ENDINGS) or base in _STEERING or ".config." in base or ".setup." in base:
        return False
    found = entry_at(os.path.join(root, name))
    if found is None or not stat.S_ISREG(found.st_mode) or found.st_mode & 0o111:
        return False
    with suppress(OSError):
        return read_regular(os.path.join(root, name), 2) != b"#!"
    return False

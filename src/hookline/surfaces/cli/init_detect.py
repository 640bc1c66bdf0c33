"""What `init` and `doctor` find without starting anything: agents, tests, linter, version control.

Programs are looked up on PATH only, files are read only; nothing of the repository is executed.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_READ = 1 << 20

# An agent's program -> its profile. Agents that speak the Agent Client Protocol are driven by it:
# it tells their tools, takes ours and goes on with a conversation, which a plain command cannot.
AGENTS: Mapping[str, str] = {
    "claude": "{driver: claude-code}",
    "codex": "{driver: codex}",
    "opencode": '{driver: acp, command: "opencode acp"}',
    "gemini": '{driver: acp, command: "gemini --acp"}',
    "copilot": '{driver: acp, command: "copilot --acp"}',
    "qwen": '{driver: acp, command: "qwen --acp"}',
    "goose": '{driver: acp, command: "goose acp"}',
    "cursor-agent": '{driver: command, command: "cursor-agent -p", input: argument}',
    "aider": '{driver: command, command: "aider --yes-always --message", input: argument}',
    "amp": '{driver: command, command: "amp -x"}',
    "crush": '{driver: command, command: "crush run", input: argument}',
}


class Tool(msgspec.Struct, frozen=True):
    """A test runner or linter: its command line, the file that told, and whether it can run."""

    command: str
    source: str
    available: bool


class VersionControl(msgspec.Struct, frozen=True):
    """The repository that a folder lies in, and the branch that work goes into."""

    system: str
    root: str
    branch: str | None


class Found(NamedTuple):
    """Everything that was found."""

    agents: list[str]
    tests: Tool | None
    linter: Tool | None
    repository: VersionControl | None


def look_around(root: str, environ: Mapping[str, str]) -> Found:
    """Look at a folder and at PATH."""
    path = environ.get("PATH")
    return Found(
        find_agents(environ),
        _first(root, path, _TESTS),
        _first(root, path, _LINTERS),
        find_repository(root),
    )


def find_agents(environ: Mapping[str, str]) -> list[str]:
    """The names of the agents on PATH; none is started."""
    return [name for name in AGENTS if shutil.which(name, path=environ.get("PATH"))]


# Tests and linters: each rule looks at one file and names the line to run.


def _always(text: str) -> bool:
    return True


class _Rule(NamedTuple):
    file: str
    command: str
    holds: Callable[[str], bool] = _always


def _mentions(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.search(pattern, text, re.MULTILINE) is not None


def _has_npm_script(name: str) -> Callable[[str], bool]:
    def holds(text: str) -> bool:
        try:
            scripts = msgspec.json.decode(text, type=dict[str, object]).get("scripts")
        except msgspec.MsgspecError:
            return False
        line = scripts.get(name) if isinstance(scripts, dict) else None
        # What `npm init` writes where there are no tests.
        return isinstance(line, str) and "no test specified" not in line

    return holds


_TESTS = (
    _Rule("pytest.ini", "pytest -q"),
    _Rule("pyproject.toml", "pytest -q", _mentions(r"^\[tool\.pytest|[\"']pytest\b")),
    _Rule("setup.cfg", "pytest -q", _mentions(r"^\[tool:pytest\]")),
    _Rule("conftest.py", "pytest -q"),
    _Rule("tests/conftest.py", "pytest -q"),
    _Rule("tox.ini", "tox -q"),
    _Rule("noxfile.py", "nox"),
    _Rule("package.json", "npm test --silent", _has_npm_script("test")),
    _Rule("Cargo.toml", "cargo test --quiet"),
    _Rule("go.mod", "go test ./..."),
    _Rule("Makefile", "make test", _mentions(r"^test\s*:(?!=)")),
)
_LINTERS = (
    _Rule("ruff.toml", "ruff check ."),
    _Rule(".ruff.toml", "ruff check ."),
    _Rule("pyproject.toml", "ruff check .", _mentions(r"^\[tool\.ruff|[\"']ruff\b")),
    _Rule("package.json", "npm run lint --silent", _has_npm_script("lint")),
    _Rule("eslint.config.js", "npx eslint ."),
    _Rule("eslint.config.mjs", "npx eslint ."),
    _Rule(".eslintrc.json", "npx eslint ."),
    _Rule("biome.json", "npx biome check ."),
    _Rule("Cargo.toml", "cargo clippy --quiet"),
    _Rule(".golangci.yml", "golangci-lint run"),
    _Rule(".golangci.yaml", "golangci-lint run"),
    _Rule("go.mod", "go vet ./..."),
    _Rule(".flake8", "flake8"),
    _Rule("Makefile", "make lint", _mentions(r"^lint\s*:(?!=)")),
)


def _first(root: str, path: str | None, rules: tuple[_Rule, ...]) -> Tool | None:
    """The first rule that holds and can run, else the first that holds."""
    found = []
    for rule in rules:
        text = _read(os.path.join(root, rule.file))
        if text is not None and rule.holds(text):
            program = rule.command.split()[0]
            tool = Tool(rule.command, rule.file, shutil.which(program, path=path) is not None)
            if tool.available:
                return tool
            found.append(tool)
    return found[0] if found else None


# Git, by its files: the answer is needed before anybody has said that git may be started.


def find_repository(start: str) -> VersionControl | None:
    """The git repository that a folder lies in."""
    root = os.path.abspath(start)
    while True:
        place = os.path.join(root, ".git")
        if os.path.exists(place):
            return VersionControl("git", root, _branch(root, place))
        parent = os.path.dirname(root)
        if parent == root:
            return None
        root = parent


def _branch(root: str, place: str) -> str | None:
    """The remote's default branch, else the one that is checked out."""
    own = _git_folder(root, place)
    shared = os.path.join(own, (_read(os.path.join(own, "commondir")) or ".").strip())
    remote = _reference(os.path.join(shared, "refs", "remotes", "origin", "HEAD"))
    return remote.removeprefix("remotes/origin/") if remote else _head(own)


def _head(folder: str) -> str | None:
    name = _reference(os.path.join(folder, "HEAD"))
    return name.removeprefix("heads/") if name else None


def _git_folder(root: str, place: str) -> str:
    if os.path.isdir(place):
        return place
    named = (_read(place) or "").removeprefix("gitdir:").strip()
    return os.path.join(root, named)


def _reference(path: str) -> str | None:
    text = (_read(path) or "").strip()
    return text.removeprefix("ref: refs/") if text.startswith("ref: refs/") else None


def _read(path: str) -> str | None:
    try:
        return read_regular(path, MAX_READ).decode("utf-8", "replace")
    except OSError:  # not there, a folder, or not ours to read: then it tells nothing
        return None

"""What `init` and `doctor` find without starting anything: agents on PATH, and git by its files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

import msgspec

from hookline.files import read_regular

MAX_READ = 1 << 20

# An agent's program -> its profile. Agents that speak the Agent Client Protocol are driven by it:
# it reports their tools, takes ours and resumes conversations, which a plain command cannot.
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


class VersionControl(msgspec.Struct, frozen=True):
    """The repository that a folder is in, and the branch that work goes into.

    `problem` is why git does not read it, where git was asked.
    """

    system: str
    root: str
    branch: str | None
    problem: str | None = None


def find_agents(environ: Mapping[str, str]) -> list[str]:
    """The names of the agents on PATH; none is started."""
    return [name for name in AGENTS if shutil.which(name, path=environ.get("PATH"))]


# Git, by its files: the answer is needed before anyone has said that git may be started.


def find_repository(start: str) -> VersionControl | None:
    """The git repository that a folder is in."""
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
    named = "" if os.path.isdir(place) else (_read(place) or "").removeprefix("gitdir:").strip()
    own = os.path.join(root, named) if named else place
    shared = os.path.join(own, (_read(os.path.join(own, "commondir")) or ".").strip())
    remote = _reference(os.path.join(shared, "refs", "remotes", "origin", "HEAD"))
    if remote:
        return remote.removeprefix("remotes/origin/")
    head = _reference(os.path.join(own, "HEAD"))
    return head.removeprefix("heads/") if head else None


def _reference(path: str) -> str | None:
    text = (_read(path) or "").strip()
    return text.removeprefix("ref: refs/") if text.startswith("ref: refs/") else None


def _read(path: str) -> str | None:
    try:
        return read_regular(path, MAX_READ).decode("utf-8", "replace")
    except OSError:  # missing, a folder, or unreadable: it says nothing
        return None

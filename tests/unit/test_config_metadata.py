"""`metadata` of hooks in hookline.yaml: author, version and tags, for every kind of hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.config.load import read_settings
from hookline.project import Project

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.config import Settings

ABOUT = "metadata: {author: ada, version: 1.10, tags: [ci, slow]}"


def load(tmp_path: Path, hooks: str) -> Settings:
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    text = f"version: 1\nagents: {{qa: {{driver: codex}}}}\nhooks: {{{hooks}}}\n"
    (tmp_path / "hookline.yaml").write_text(text, encoding="utf-8")
    project = Project(str(tmp_path), str(tmp_path / ".hookline"))
    return read_settings(project, str(tmp_path / "home")).settings


@pytest.mark.parametrize(
    ("point", "entry"),
    [
        ("task_completed", "command: echo hi"),
        ("task_completed", "script: ./run.sh"),
        ("task_completed", "python: 'mine:function'"),
        ("task_completed", "http: 'https://example.org/hook'"),
        ("task_completed", "agent: qa, prompt: Look at it."),
        ("before_merge", "gatekeeper: [qa]"),
        ("before_submit", "diff_limits: {files: 3}"),
        ("stop", "name: default"),
        ("stop", "all_of: [default, {command: 'true'}]"),
        ("post_iteration", "command: echo hi, deliver: now, pipe_output: true"),
    ],
)
def test_every_kind_of_hook_has_metadata(tmp_path: Path, point: str, entry: str) -> None:
    settings = load(tmp_path, f"{point}: [{{{entry}, {ABOUT}}}]")
    assert [each for each in settings.problems if each.severity == "error"] == []
    (hook,) = settings.hooks
    found = {name: hook.metadata[name] for name in ("author", "version", "tags")}
    assert found == {"author": "ada", "version": "1.10", "tags": ["ci", "slow"]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("ada", "'hooks.task_completed[0].metadata' must be a mapping"),
        ("{auhtor: ada}", "'hooks.task_completed[0].metadata' has no key 'auhtor'"),
        ("{tags: ci}", "'hooks.task_completed[0].metadata.tags' must be a list"),
        ("{author: [ada]}", "'hooks.task_completed[0].metadata.author' must be text"),
        ("{author: ''}", "'hooks.task_completed[0].metadata.author'"),
        ("{tags: ['']}", "'hooks.task_completed[0].metadata.tags[0]'"),
    ],
)
def test_wrong_metadata_is_an_error(tmp_path: Path, given: str, message: str) -> None:
    settings = load(tmp_path, f"task_completed: [{{command: 'true', metadata: {given}}}]")
    (problem,) = [each for each in settings.problems if each.severity == "error"]
    assert message in problem.message

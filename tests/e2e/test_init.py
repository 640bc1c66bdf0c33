"""`hookline init`: what it finds, what it writes, and above all what it leaves alone."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.e2e.first_run import Place

if TYPE_CHECKING:
    from pathlib import Path

NPM = '{"scripts": {"test": "vitest", "lint": "eslint ."}}'
NO_NPM = '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "program", "tests", "linter"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\n", "pytest", "pytest -q", None),
        ("pyproject.toml", '[tool.ruff]\n[x]\ndev = ["pytest>=8"]', "pytest", "pytest -q", "ruff"),
        ("pytest.ini", "", "pytest", "pytest -q", None),
        ("package.json", NPM, "npm", "npm test --silent", "npm"),
        ("package.json", NO_NPM, "npm", None, None),
        ("package.json", "not json", "npm", None, None),
        ("Makefile", "all:\n\ntest: all\n\techo\n", "make", "make test", None),
        ("Makefile", "test := 1\n", "make", None, None),
        ("Cargo.toml", "[package]\n", "cargo", "cargo test --quiet", "cargo"),
        ("go.mod", "module x\n", "go", "go test ./...", "go"),
        ("tox.ini", "[tox]\n", "tox", "tox -q", None),
        ("noxfile.py", "import nox\n", "nox", "nox", None),
    ],
)
def test_finds_the_test_runner_and_the_linter_by_their_files(
    place: Place, file: str, text: str, program: str, tests: str | None, linter: str | None
) -> None:
    place.program(program)
    (place.root / file).write_text(text)
    found = place.json("init")["found"]
    assert (found["tests"] or {}).get("command") == tests
    assert (found["linter"] or {}).get("command", "").partition(" ")[0] == (linter or "")
    written = (place.root / "hookline.yaml").read_text()
    assert (f'command: "{tests}"' in written) == (tests is not None)
    assert not place.started.exists()


def test_agents_are_found_by_name_and_never_started(place: Place) -> None:
    for name in ("claude", "codex", "goose"):
        place.program(name)
    settings = place.base / "user" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    assert "claude, codex, goose" in place.ok("init")
    assert not place.started.exists()
    assert settings.read_text() == "{}"
    assert sorted(each.name for each in (place.base / "user").iterdir()) == [".claude"]


def test_agents_that_are_there_become_profiles_that_a_session_can_use(place: Place) -> None:
    for name in ("codex", "opencode"):
        place.program(name)
    assert place.json("init")["next"] == 'hookline run "say what is to be done"'
    shown = {each["key"]: each["value"] for each in place.json("config", "show")}
    assert shown["agent"] == "codex"
    assert shown["agents.codex.driver"] == "codex"
    assert shown["agents.opencode.driver"] == "acp"
    assert shown["agents.opencode.command"] == "opencode acp"


def test_without_an_agent_it_writes_how_one_is_named(place: Place) -> None:
    place.ok("init")
    assert "# agent: claude" in (place.root / "hookline.yaml").read_text()
    done = place.hookline("run", "something")
    assert done.returncode == 2
    assert "no agent is configured" in done.stderr


def test_the_test_runner_becomes_a_rule_that_can_be_tried(place: Place) -> None:
    place.program("pytest")
    (place.root / "pytest.ini").touch()
    place.ok("init")
    assert "✓ tests_pass" in place.ok("validate")
    assert place.started.read_text() == "pytest\n"


@pytest.mark.parametrize("available", [True, False])
def test_what_it_writes_has_no_problem_even_with_every_comment_removed(
    place: Place, available: bool
) -> None:
    (place.root / "pyproject.toml").write_text("[tool.pytest]\n[tool.ruff]\n")
    agents = ("claude", "codex", "opencode", "gemini", "copilot", "qwen", "aider", "goose")
    for name in (*agents, "cursor-agent", *(["pytest"] if available else [])):
        place.program(name)
    place.ok("init")
    assert place.json("check") == {
        "problems": [],
        "errors": 0,
        "warnings": 0,
        "changedDefaults": [],
    }
    text = (place.root / "hookline.yaml").read_text()
    example = re.compile(r"^( *)# ( *(?:- |[a-z_-]+:).*)$", re.MULTILINE)
    place.configure(example.sub(r"\1\2", text))
    problems = place.json("check")
    assert problems["errors"] == 0
    assert {each["code"] for each in problems["problems"]} <= {"never-fires"}
    shown = place.ok("config", "show")
    for word in ("before_submit", "post_iteration", "evidence", "tests_pass", "cursor-agent"):
        assert word in shown


def test_the_hook_it_writes_is_trusted_and_runs(place: Place) -> None:
    place.program("pytest")
    (place.root / "pytest.ini").touch()
    assert place.json("init")["trusted"] is True
    place.ok("task", "add", "by a person")
    place.ok("task", "add", "by an agent", "--label", "agent")
    assert place.hookline("task", "complete", "T-1").stderr == ""
    assert not place.started.exists()
    assert place.hookline("task", "complete", "T-2").stderr == ""
    assert place.started.read_text() == "pytest\n"


def test_without_a_runner_it_keeps_a_journal(place: Place) -> None:
    place.ok("init")
    place.ok("task", "add", "Write $(touch pwned) it")
    assert place.hookline("task", "complete", "T-1").stderr == ""
    journal = place.root / ".hookline" / "logs" / "completed.txt"
    assert journal.read_text() == "T-1 Write $(touch pwned) it\n"
    assert not (place.root / "pwned").exists()


def test_a_second_run_changes_nothing_and_says_so(place: Place) -> None:
    first = place.json("init")
    assert first["created"] == ["hookline.yaml", "store"]
    assert first["next"] == 'hookline task add "My first task"'
    text = (place.root / "hookline.yaml").read_bytes()
    place.ok("task", "add", "one")
    second = place.json("init")
    assert (second["created"], second["kept"]) == ([], ["hookline.yaml", "store"])
    assert second["trusted"] is True
    assert (place.root / "hookline.yaml").read_bytes() == text
    assert [task["id"] for task in place.json("task", "list")] == ["T-1"]
    assert "was here already" in place.ok("init")


def test_a_configuration_that_came_with_the_repository_is_not_trusted(place: Place) -> None:
    text = "hooks:\n  task_created:\n    - {name: theirs, command: 'touch ran'}\n"
    place.configure(text)
    report = place.json("init")
    assert (report["created"], report["kept"]) == (["store"], ["hookline.yaml"])
    assert (report["trusted"], report["next"]) == (False, "hookline trust")
    assert (place.root / "hookline.yaml").read_text() == text
    assert "hookline trust" in place.hookline("task", "add", "one").stderr
    assert not (place.root / "ran").exists()


def test_hooks_that_came_with_the_repository_are_not_trusted_along(place: Place) -> None:
    theirs = place.root / ".hookline" / "hooks" / "task_created" / "10-theirs"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("#!/bin/sh\ntouch ran\n")
    theirs.chmod(0o755)
    report = place.json("init")
    assert report["created"] == ["hookline.yaml", "store"]
    assert report["trusted"] is False
    assert "10-theirs" in " ".join(report["notes"])
    place.ok("task", "add", "one")
    assert not (place.root / "ran").exists()


def test_a_store_that_came_with_the_repository_is_only_read(place: Place) -> None:
    another = {"HOOKLINE_HOME": str(place.base / "another")}
    place.ok("init", env=another)
    place.ok("task", "add", "theirs", env=another)
    (place.root / "hookline.yaml").unlink()
    report = place.json("init")
    assert report["kept"] == ["store"]
    assert report["next"] == "hookline trust"
    assert place.hookline("task", "add", "one").returncode == 2


@pytest.mark.parametrize("variable", ["HOOKLINE_AGENT", "HOOKLINE_HOOK"])
def test_an_agent_may_set_up_but_not_trust(place: Place, variable: str) -> None:
    report = place.json("init", env={variable: "claude"})
    assert report["created"] == ["hookline.yaml", "store"]
    assert report["trusted"] is False
    assert place.json("trust", "--show")["trusted"] is False


def test_inside_a_project_it_says_so_and_makes_nothing(place: Place) -> None:
    place.ok("init")
    inner = place.root / "src" / "deep"
    inner.mkdir(parents=True)
    shown = place.ok("init", cwd=inner)
    assert f"lies in the project {place.root}" in shown
    assert list(inner.iterdir()) == []
    (inner / ".hookline").mkdir()
    assert place.json("init", cwd=inner)["created"] == ["hookline.yaml", "store"]


def test_git_is_read_and_its_absence_noted(place: Place) -> None:
    report = place.json("init")
    assert report["found"]["versionControl"] is None
    assert "no git repository" in " ".join(report["notes"])
    shutil.rmtree(place.root)
    (place.root / ".git").mkdir(parents=True)
    (place.root / ".git" / "HEAD").write_text("ref: refs/heads/topic/on-it\n")
    found = place.json("init")["found"]["versionControl"]
    assert found == {"system": "git", "root": str(place.root), "branch": "topic/on-it"}
    remote = place.root / ".git" / "refs" / "remotes" / "origin" / "HEAD"
    remote.parent.mkdir(parents=True)
    remote.write_text("ref: refs/remotes/origin/trunk\n")
    assert place.json("init")["found"]["versionControl"]["branch"] == "trunk"


def test_a_worktree_has_the_branch_of_its_repository(place: Place) -> None:
    shared = place.base / "bare.git"
    own = shared / "worktrees" / "one"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/one\n")
    (own / "commondir").write_text("../..\n")
    (place.root / ".git").write_text(f"gitdir: {own}\n")
    assert place.json("init")["found"]["versionControl"]["branch"] == "one"


@pytest.mark.parametrize(
    ("answer", "code", "made"), [("n\n", 1, False), ("\n", 0, True), ("yes\n", 0, True)]
)
def test_on_a_terminal_it_asks_first(place: Place, answer: str, code: int, made: bool) -> None:
    assert place.typed(answer, "init")[0] == code
    assert (place.root / "hookline.yaml").exists() == made
    assert (place.root / ".hookline").exists() == made


def test_on_a_terminal_yes_asks_nothing_and_neither_does_a_second_run(place: Place) -> None:
    code, shown = place.typed("", "init", "--yes")
    assert code == 0
    assert "[Y/n]" not in shown
    code, shown = place.typed("", "init")
    assert code == 0
    assert "[Y/n]" not in shown


def test_what_stands_in_the_way_is_named_and_left(place: Place) -> None:
    (place.root / "hookline.yaml").mkdir()
    done = place.hookline("init")
    assert done.returncode == 2
    assert "is not a file" in done.stderr
    assert not (place.root / ".hookline").exists()
    (place.root / "hookline.yaml").rmdir()
    (place.root / ".hookline").write_text("mine")
    done = place.hookline("init")
    assert done.returncode == 2
    assert "is not a folder" in done.stderr
    assert not (place.root / "hookline.yaml").exists()


def test_a_folder_that_cannot_be_written_is_an_error(place: Place) -> None:
    # Not even root may make files in /sys, so this needs no change of user.
    done = place.hookline("init", "--yes", cwd="/sys")
    assert done.returncode == 1
    assert "error[read-only]: cannot write /sys/hookline.yaml" in done.stderr


def test_the_users_own_folder_is_no_repository(place: Place) -> None:
    place.home.mkdir()
    done = place.hookline("init", cwd=place.home)
    assert done.returncode == 2
    assert list(place.home.iterdir()) == []

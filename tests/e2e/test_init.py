"""`hookline init`: what it finds, what it writes, and above all what it leaves alone."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.e2e.first_run import Place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def tested(place: Place) -> Place:
    """A repository with a test runner, an agent that works, and one that does not."""
    place.git()
    place.put("pytest.ini", "")
    place.program("pytest")
    place.program("claude", "echo 2.1.325")
    place.program("gemini", "exit 3")
    return place


def test_agents_are_asked_for_their_version_in_an_empty_folder(place: Place) -> None:
    place.put("canary", "")
    place.program("claude", f'echo "$@ in $(ls -A)" >> {place.base}/asked; echo "2.1.325 (Code)"')
    place.program("codex", "echo codex-cli 0.166.0")
    settings = place.base / "user" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    assert "✓ agents    claude 2.1.325, codex 0.166.0\n" in place.ok("init")
    assert (place.base / "asked").read_text() == "--version in \nauth status in \n"
    assert settings.read_text() == "{}"
    assert sorted(each.name for each in (place.base / "user").iterdir()) == [".claude"]


def test_an_agent_that_cannot_work_has_no_check_mark(place: Place) -> None:
    place.program(
        "claude", """case $1 in auth) echo '{"loggedIn": false}';; *) echo 2.1.325;; esac"""
    )
    place.put("uv.lock", "")
    place.put("pyproject.toml", "[tool.pytest.ini_options]\n")
    said = place.ok("init")
    assert "  ! agents    claude 2.1.325 (cannot work yet)\n" in said
    assert "  ! claude cannot work yet: " in said
    assert "  ! tests     uv run pytest" in said  # uv is not on PATH
    assert "✓ tests" not in said


def test_what_is_said_of_unproven_work_is_what_happens(place: Place) -> None:
    notes = place.json("init")["notes"]
    lacking = "no check is active and this is not a git repository"
    assert f"{lacking}: the agent's promise is believed, without proof" in notes


def test_without_git_a_promise_needs_its_checks(place: Place) -> None:
    place.put("pytest.ini", "")
    place.program("pytest")
    told = "this is not a git repository: a promise counts if no check fails, changed or not"
    assert told in place.json("init")["notes"]


def test_a_program_of_the_repository_is_never_asked(place: Place) -> None:
    inside = place.root / "node_modules" / ".bin"
    inside.mkdir(parents=True)
    for name in ("claude", "codex"):
        (inside / name).write_text(f"#!/bin/sh\ntouch {place.base}/ran\necho 1.0\n")
        (inside / name).chmod(0o755)
    (place.programs / "opencode").symlink_to(inside / "claude")
    report = place.json("init", env={"PATH": f".:{inside}:{place.programs}:/usr/bin:/bin"})
    told = {each["name"]: each["problem"] for each in report["found"]["agents"]}
    assert set(told) == {"claude", "codex", "opencode"}
    assert set(told.values()) == {"it is in this repository, and was not started"}
    assert not (place.base / "ran").exists()
    assert "\nagents:" not in place.written


@pytest.mark.parametrize("first", [".", "", "tools"])
def test_a_relative_folder_of_path_gives_no_program(place: Place, first: str) -> None:
    place.git()
    place.put("Makefile", "test:\n\ttrue\n")
    for name in ("git", "make"):
        place.put(f"{first or '.'}/{name}", f"#!/bin/sh\ntouch {place.base}/ran\n", 0o755)
    env = {"PATH": f"{first}:{place.programs}:/usr/bin:/bin"}
    place.ok("init", "--yes", "--try-tests", env=env)
    place.hookline("doctor", env=env)
    assert not (place.base / "ran").exists()


def test_agents_that_start_become_profiles_that_a_session_can_use(place: Place) -> None:
    for name in ("codex", "opencode"):
        place.program(name, "echo 1.0")
    place.program("gemini", "exit 3")
    assert place.json("init")["next"] == 'hookline run "what the agent should do"'
    shown = {each["key"]: each["value"] for each in place.json("config", "show")}
    assert shown["agent"] == "codex"
    assert shown["agents.codex.driver"] == "codex"
    assert shown["agents.opencode.driver"] == "acp"
    assert shown["agents.opencode.command"] == "opencode acp"
    why = "Gemini CLI cannot be started (`gemini --version` exited 3)"
    assert f"  # gemini: {why}\n  # gemini: {{driver: acp" in place.written
    assert "agents.gemini.driver" not in shown


@pytest.mark.parametrize(("agent", "money"), [("claude", True), ("codex", False), (None, False)])
def test_only_an_agent_that_reports_money_gets_a_limit_on_it(
    place: Place, agent: str | None, money: bool
) -> None:
    if agent:
        place.program(agent, "echo 1.0")
    place.ok("init")
    shown = {each["key"]: each["value"] for each in place.json("config", "show")}
    assert shown["session.iterations"] == 20
    assert shown["session.budget.minutes"] == 120
    assert shown.get("session.budget.usd") == (10 if money else None)


def test_every_agent_can_be_chosen_in_the_file_that_is_written(place: Place) -> None:
    """Sessions of an agent that does not report money are refused where money is limited."""
    place.git()
    for name in ("claude", "codex"):
        place.program(name, "echo 1.0")
    place.ok("init")
    assert "\nagent: claude\n" in place.written
    assert "no `usd: 10`: it would refuse codex, not knowing the cost" in place.written
    place.configure(place.written.replace("agent: claude", "agent: codex"))
    assert place.json("check")["problems"] == []


OPENCODE = """\
case "$1" in
--version) echo 1.18.0 ;;
auth) echo "0 credentials" ;;
models) echo opencode/free ;;
esac
"""


@pytest.mark.parametrize("logged_in", [True, False])
def test_an_agent_that_is_logged_in_is_chosen_before_one_whose_login_is_unknown(
    place: Place, logged_in: bool
) -> None:
    place.program("opencode", OPENCODE)
    place.program("gemini", "echo 0.61.0")
    env = {"GEMINI_API_KEY": "of-nobody"} if logged_in else {}
    shown = place.ok("init", env=env)
    chosen = "gemini, logged in" if logged_in else "opencode, login unknown"
    assert f"✓ chosen    {chosen}\n" in shown
    assert f"\nagent: {chosen.partition(',')[0]}\n" in place.written
    warned = "sessions use opencode, whose login is unknown: it may use an account or a provider"
    assert (warned in shown) is not logged_in


def test_without_an_agent_it_writes_how_one_is_named(place: Place) -> None:
    place.ok("init")
    assert "# agent: claude" in place.written
    done = place.hookline("run", "something")
    assert done.returncode == 2
    assert "no agent is configured" in done.stderr


def test_the_test_runner_becomes_a_rule_that_can_be_tried(tested: Place) -> None:
    tested.ok("init")
    assert not tested.started.exists()
    assert "✓ tests_pass" in tested.ok("validate")
    assert tested.started.read_text() == "pytest\n"


@pytest.mark.parametrize("available", [True, False])
def test_what_it_writes_has_no_problem_even_with_every_comment_removed(
    place: Place, available: bool
) -> None:
    place.git()
    (place.root / "pyproject.toml").write_text("[tool.pytest]\n[tool.ruff]\n")
    agents = ("claude", "codex", "opencode", "gemini", "copilot", "qwen", "aider", "goose")
    for name in (*agents, "cursor-agent", *(["pytest", "ruff"] if available else [])):
        place.program(name)
    place.ok("init")
    assert place.json("check") == {
        "problems": [],
        "errors": 0,
        "warnings": 0,
        "changedDefaults": [],
        "frozen": [],
    }
    example = re.compile(r"^( *)# ( *(?:- |[a-z_-]+:).*)$", re.MULTILINE)
    text = re.sub("  # attention_needed:.*\n.*notify.*\n", "", place.written)
    assert text != place.written
    place.configure(example.sub(r"\1\2", text))
    assert place.json("check")["problems"] == []
    shown = place.ok("config", "show")
    for word in ("before_submit", "post_iteration", "evidence", "tests_pass", "cursor-agent"):
        assert word in shown


def test_every_hook_it_writes_fires_in_a_session(tested: Place) -> None:
    tested.put("ruff.toml", "")
    tested.program("ruff", "echo E501 too long")
    tested.ok("init")
    done = {"run": "echo x > new", "text": "<promise>COMPLETE</promise>"}
    tested.play(done, {"expect": "E501 too long", "text": "I see."})
    assert tested.hookline("run", "work").returncode == 0
    hooks = [h["name"] for h in tested.json("hook", "list") if h["layer"] == "project"]
    assert sorted(hooks) == ["lint", "stop[0]:evidence"]
    stats = {each["name"]: each["ok"] for each in tested.json("hook", "stats")["hooks"]}
    assert all(stats[name] for name in hooks)


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
    assert "already exists and is unchanged" in place.ok("init")


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
    assert f"is inside the project {place.root}" in shown
    assert list(inner.iterdir()) == []
    (inner / ".hookline").mkdir()
    assert place.json("init", cwd=inner)["created"] == ["hookline.yaml", "store"]


def test_git_is_read_and_its_absence_noted(place: Place) -> None:
    report = place.json("init")
    assert report["found"]["versionControl"] is None
    assert "not a git repository" in " ".join(report["notes"])
    assert "  # stop: [evidence]" in place.written
    shutil.rmtree(place.root)
    (place.root / ".git").mkdir(parents=True)
    (place.root / ".git" / "HEAD").write_text("ref: refs/heads/topic/on-it\n")
    found = place.json("init")["found"]["versionControl"]
    assert found.pop("problem") == "git does not read the repository"
    assert found == {"system": "git", "root": str(place.root), "branch": "topic/on-it"}
    remote = place.root / ".git" / "refs" / "remotes" / "origin" / "HEAD"
    remote.parent.mkdir(parents=True)
    remote.write_text("ref: refs/remotes/origin/trunk\n")
    assert place.json("init")["found"]["versionControl"]["branch"] == "trunk"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_that_git_does_not_read_has_no_check_mark(place: Place) -> None:
    place.git()
    os.chown(place.root / ".git", 12345, 12345)
    shown = place.ok("init")
    assert re.search("^  ! versions +git", shown, re.MULTILINE)
    assert re.search(".*dubious ownership.*; run `git status` there", shown)
    checks = place.json("doctor")["checks"]
    (git,) = [each for each in checks if each["name"] == "git"]
    assert (git["status"], "dubious ownership" in git["message"]) == ("failed", True)
    shutil.rmtree(place.root / ".git")
    (place.root / ".git").mkdir()
    checks = place.json("doctor")["checks"]
    (git,) = [each for each in checks if each["name"] == "git"]
    assert git["message"] == "git does not read the repository"


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


ASKED = "Run `pytest -q` once? This executes code of this repository [y/N]"


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    ("answers", "words", "ran", "made"),
    [
        ("\n\n", (), False, True),
        ("n\ny\n", (), False, True),
        ("y\ny\n", (), True, True),
        ("y\nn\n", (), True, False),
        ("", (), False, False),
        ("\n", ("--try-tests",), True, True),
    ],
)
def test_on_a_terminal_it_asks_before_it_runs_the_tests(
    tested: Place, answers: str, words: tuple[str, ...], ran: bool, made: bool
) -> None:
    code, shown = tested.typed(answers or "\x04\x04", "init", *words)
    assert code == (0 if made else 1)
    assert (ASKED in shown) == (not words)
    assert tested.started.exists() == ran
    assert (tested.root / "hookline.yaml").exists() == made


@pytest.mark.parametrize(
    ("words", "ran"),
    [((), False), (("--yes",), False), (("--try-tests",), True), (("--yes", "--try-tests"), True)],
)
def test_in_a_script_only_the_option_runs_the_tests(
    tested: Place, words: tuple[str, ...], ran: bool
) -> None:
    tried = tested.json("init", *words)["tried"]
    assert [(each["command"], each["exitCode"]) for each in tried] == [("pytest -q", 0)] * ran
    assert tested.started.exists() == ran


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

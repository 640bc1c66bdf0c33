"""Each prompt with which rejected work comes back to its author, whole, as the agent reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import Cli
from tests.e2e.pipeline_rig import Pipeline
from tests.prompts.snapshots import check_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASKS = {
    "verdict": "request_changes",
    "summary": "The part is not signed.",
    "comments": [
        {"file": "parts/T-1", "line": 1, "blocking": True, "comment": "Add your name."},
        {"file": None, "line": None, "blocking": False, "comment": "A longer text would be nice."},
    ],
}
GATE = {"status": "failure", "message": "no", "remediationPrompt": "Sign the part."}


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Pipeline]:
    pipeline = Pipeline(Cli(tmp_path))
    yield pipeline
    pipeline.cli.close()


def gates(*entries: Any, point: str = "before_submit") -> str:
    hooks = {"before_submit": [], point: list(entries)}
    return f"hooks: {json.dumps(hooks)}\ngates: {{tries: 1, max_file: 10 KB}}\n"


def rejected(line: Pipeline, configuration: str, **says: str) -> Path:
    """The worktree of a task, done by hand, in a project with an agent that fixes nothing."""
    commands = {"bot": f"sh {line.box}/agent.sh", **says}
    profiles = {name: {"driver": "command", "command": each} for name, each in commands.items()}
    line.begin(configuration, agents=f"agents: {json.dumps(profiles)}\nagent: bot\n")
    line.turn("true\n")
    task = line.cli.add("a part", "--deliverable", "a signed part", "--note", "sign with a name")
    assert task == "T-1"
    return line.by_hand(task)


def the_prompt(line: Pipeline) -> str:
    """What the agent was told once the work was submitted."""
    line.cli("submit", "T-1", "--agent", "bot")
    (prompt,) = line.prompts("T-1")
    return prompt


def compare(name: str, line: Pipeline, prompt: str) -> None:
    check_prompt(name, prompt, {str(line.cli.root): "/project"})


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    ("name", "entry", "added"),
    [
        ("fix-tests", "run_tests", "log"),
        ("fix-command", {"command": "echo no changelog; test -e CHANGELOG"}, None),
        ("fix-lines", {"name": "listed", "command": "cd parts\nls\ntest -e '../a  b'\n"}, None),
        ("fix-test-lines", {"run_tests": "set -e\nsh check.sh"}, "log"),
        ("fix-secrets", "secrets", "settings.py"),
        ("fix-limits", {"diff_limits": {"files": 2, "forbid": ["settings.*"]}}, "settings.py"),
    ],
)
def test_what_a_check_rejects(line: Pipeline, name: str, entry: Any, added: str | None) -> None:
    place = rejected(line, gates({"command": "test -d parts"}, entry))
    if added:
        (place / added).write_text('key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"\n')
        line.commit("more", at=place)
    compare(name, line, the_prompt(line))


def test_a_command_that_is_too_long_is_not_to_be_run(line: Pipeline) -> None:
    rejected(line, gates({"command": f"test -e {'x' * 1000}"}))
    prompt = the_prompt(line)
    assert "A command in hookline.yaml failed on your work with exit code 1." in prompt
    assert "they run again after your turn: `make test`\n" in prompt
    assert "xxx" not in prompt


def test_a_gate_that_was_not_reached_is_told_as_well(line: Pipeline) -> None:
    """Also where only the files of the project tell what it runs."""
    place = rejected(line, gates("secrets", "run_tests"))
    (place / "settings.py").write_text('key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"\n')
    line.commit("more", at=place)
    assert "they run again after your turn: `make test`\n" in the_prompt(line)


def test_a_line_with_variables_is_told_with_their_values(line: Pipeline) -> None:
    """The gate that failed runs again, and what it printed is nothing."""
    rejected(line, gates({"command": "grep -q {{task_id}} CHANGES"}, {"human": {}}))
    place = line.place("T-1")
    (place / "CHANGES").write_text("nothing\n")
    line.commit("more", at=place)
    prompt = the_prompt(line)
    compare("fix-silent", line, prompt)
    shown = "`grep -q T-1 CHANGES`"
    assert f"{shown} failed on your work with exit code 1. It printed nothing.\n" in prompt
    assert f"they run again after your turn: {shown}, `make test`\n" in prompt


def test_what_the_merged_result_rejects(line: Pipeline) -> None:
    place = rejected(line, gates())
    (place / "log").write_text("")
    line.commit("the log is lost", at=place)
    compare("fix-merged", line, the_prompt(line))


def test_what_reviewers_reject(line: Pipeline) -> None:
    answer = f"cat > /dev/null; echo '{json.dumps(ASKS)}'"
    rejected(line, gates("run_tests", {"gatekeeper": ["qa"]}), qa=answer)
    compare("fix-review", line, the_prompt(line))


def test_whoever_remembers_nothing_is_told_its_role_and_what_to_leave_alone(line: Pipeline) -> None:
    """One of two reviewers approves; the test of the merged result is named before it runs."""
    answers = {"qa": ASKS, "ops": {"verdict": "approve", "summary": "Fine.", "comments": []}}
    says = {name: f"cat > /dev/null; echo '{json.dumps(each)}'" for name, each in answers.items()}
    line.cli.put("roles/bot.md", "You write small parts.\n")
    commands = {"bot": f"sh {line.box}/agent.sh", **says}
    agents: dict[str, Any] = {
        name: {"driver": "command", "command": each} for name, each in commands.items()
    }
    agents["bot"]["prompt"] = "roles/bot.md"
    hooks = {"before_submit": [{"gatekeeper": ["qa", "ops"]}, {"diff_limits": {"forbid": ["x/*"]}}]}
    settings = f"hooks: {json.dumps(hooks)}\ngates: {{tries: 1, test: sh check.sh}}\n"
    line.begin(settings, agents=f"agents: {json.dumps(agents)}\n")
    line.turn("true\n")
    line.by_hand(line.cli.add("a part"))
    prompt = the_prompt(line)
    assert prompt.startswith("You write small parts.\n\nYou worked on this task before")
    assert "Do not change:\n- `x/*`\n- hookline.yaml, and what it names: `check.sh`" in prompt
    assert "\n\nA colleague reviewed your work and asked for changes." in prompt
    assert "they run again after your turn: `sh check.sh`\n" in prompt


def test_what_an_agent_hook_rejects(line: Pipeline) -> None:
    """Also what the hook itself is asked."""
    asked = line.box / "asked"
    answer = f"cat > {asked}; echo '{json.dumps(GATE)}'"
    rejected(line, gates({"agent": "qa", "prompt": "Is it signed?"}), qa=answer)
    compare("fix-agent-hook", line, the_prompt(line))
    question = asked.read_text()
    assert '"task_id":"T-1"' in question
    compare("review-agent-hook", line, question)


def test_what_a_person_rejects(line: Pipeline) -> None:
    rejected(line, gates({"name": "boss", "human": {}}))
    assert line.cli("submit", "T-1", "--agent", "bot").code == 4
    line.cli.json("gate", "reject", "T-1", "--comment", "Sign it.")
    prompt = the_prompt(line)
    compare("fix-person", line, prompt.replace("Ada <ada@example.org>", "Ada"))


def test_files_that_must_not_be_merged(line: Pipeline) -> None:
    place = rejected(line, gates())
    (place / "core.dump").write_bytes(b"0" * 10241)
    line.git("init", "--quiet", str(place / "vendor"))
    (place / "vendor" / "file").write_text("in it\n")
    compare("fix-files", line, the_prompt(line))


def test_a_commit_that_git_refuses(line: Pipeline) -> None:
    place = rejected(line, gates())
    hook = line.cli.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho 'line 3 is too long'\nexit 1\n")
    hook.chmod(0o755)
    (place / "more").write_text("more\n")
    compare("fix-commit", line, the_prompt(line))


def test_another_branch_that_is_checked_out(line: Pipeline) -> None:
    place = rejected(line, gates())
    line.git("switch", "--quiet", "--create", "elsewhere", at=place)
    compare("fix-branch", line, the_prompt(line))


def test_a_git_operation_that_is_not_finished(line: Pipeline) -> None:
    rejected(line, gates({"command": "test -e CHANGELOG"}))
    line.turn("[ $n != 1 ] || git bisect start > /dev/null\n")
    line.cli("submit", "T-1", "--agent", "bot")
    _, prompt = line.prompts("T-1")
    compare("fix-operation", line, prompt)


def test_work_of_which_only_commits_count(line: Pipeline) -> None:
    strict = gates({"command": "test -e CHANGELOG"}).replace(
        "{tries", "{uncommitted: refuse, tries"
    )
    rejected(line, strict)
    prompt = the_prompt(line)
    assert "Commit all of your work on this branch: uncommitted work is refused." in prompt
    compare("fix-uncommitted", line, prompt)


def test_what_two_reviewers_reject(line: Pipeline) -> None:
    answer = f"cat > /dev/null; echo '{json.dumps(ASKS)}'"
    rejected(line, gates({"gatekeeper": ["qa", "ops"]}), qa=answer, ops=answer)
    prompt = the_prompt(line)
    assert "2 colleagues reviewed your work and asked for changes." in prompt
    compare("fix-two-reviews", line, prompt)


def test_work_that_breaks_the_configuration(line: Pipeline) -> None:
    place = rejected(line, gates())
    (place / "hookline.yaml").write_text("version: 1\nhooks: {before_lunch: [{command: eat}]}\n")
    line.commit("another configuration", at=place)
    compare("fix-configuration", line, the_prompt(line))

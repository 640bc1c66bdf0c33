"""What an agent is told about the checks of its work follows the configuration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.e2e.pipeline_rig import Pipeline, keepers
from tests.e2e.session_rig import PROMISE, Rig, in_order

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def told(cli: Cli, hooks: dict[str, Any], gates: dict[str, Any], **more: Any) -> str:
    """The first prompt of a task whose type has these hooks."""
    line = Pipeline(cli)
    types = {"part": {"agents": {"implementer": ["bot"]}, "hooks": hooks, **more}}
    text = f"task_types: {json.dumps(types)}\ngates: {json.dumps(gates)}\n"
    line.begin(text, agents=keepers(line, qa="true", strict="true"))
    line.turn("exit 3\n")
    task = cli.add("a part", "--type", "part")
    cli("run", "--task", task, "--agent", "bot", "--iterations", "1")
    return line.prompts(task)[0]


def test_gates_are_told_in_order_with_their_commands_and_who_reviews(cli: Cli) -> None:
    found = told(
        cli,
        {
            "before_submit": [
                {"run_tests": "sh check.sh"},
                "lint",
                "create_pr",
                "ci_status",
                {"name": "size", "command": "du -s .", "when": "commits_count > 1"},
            ],
            "before_merge": [
                {"gatekeeper": ["qa", "strict"]},
                {"human": "Shall it go in?"},
            ],
        },
        {"uncommitted": "refuse"},
        skip_pr=True,
    )
    assert in_order(
        found,
        "1. run_tests: `sh check.sh`",
        "2. lint: the project's own linter, if any",
        "3. size: `du -s .` (only when commits_count > 1)",
        "4. gatekeeper: review of your diff against this task, by qa, strict",
        "5. human: a person decides: Shall it go in?",
        "6. merge: the merged result must pass `sh check.sh`",
        "uncommitted work is refused",
        "Do not push, merge or switch branches.",
    )
    assert "create_pr" not in found  # it is merged without one
    assert "ci_status" not in found


def test_work_without_gates_or_tests_is_told_of_none(cli: Cli) -> None:
    found = told(cli, {"before_submit": []}, {"test": "none"})
    assert "Gates" not in found
    assert "Run the commands" not in found
    assert "You work on the branch `hookline/T-1` in the worktree" in found


def test_rules_and_stop_hooks_are_told_in_the_users_own_folder(cli: Cli) -> None:
    rig = Rig(cli)
    rules = [
        {"name": "there", "type": "file_existence", "files": ["a.txt", "b.txt"]},
        {"name": "dated", "type": "content_pattern", "pattern": "^20", "files": ["a.txt"]},
        {"name": "covered", "type": "coverage", "minimum": 80, "report": "c.xml"},
    ]
    rig.configure({"stop": [{"name": "tidy", "command": "make tidy"}, "default"]}, validation=rules)
    rig.turns(PROMISE)
    rig.run(iterations=1)
    found = rig.prompts()[0].text
    assert in_order(
        found,
        "nothing is committed, merged or submitted for you",
        "- there: these files must exist: `a.txt`, `b.txt`",
        "- dated: `a.txt` must match `^20`",
        "- covered: at least 80.0% test coverage",
        "- tidy: `make tidy`",
        "Run the commands above",
    )
    assert "hookline/T-1" not in found

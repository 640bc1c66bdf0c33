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
        "3. size (only when commits_count > 1): `du -s .`",
        "4. gatekeeper: review by qa, strict",
        "5. human: a person decides: Shall it go in?",
        "6. merge: the merged result must pass `sh check.sh`",
        "uncommitted work is refused",
        "Do not push, switch branches or merge it elsewhere.",
    )
    assert "create_pr" not in found  # it is merged without one
    assert "ci_status" not in found


def test_a_command_is_told_as_the_agent_can_run_it(cli: Cli) -> None:
    """With the values of its variables; what the agent cannot run is named without a command."""
    cli.put("checks.py", "def fine(work): return None\n")
    cli.put("gate.sh", "#!/bin/sh\n").chmod(0o755)
    found = told(
        cli,
        {
            "before_submit": [
                {"name": "log", "command": "grep {{task_id}} CHANGES"},
                {"name": "both", "command": "diff '{{branch}}' {{base_branch}} --format '{{a.b}}'"},
                {"name": "text", "command": 'echo "\\{{task_id}} {{task_content}}" | wc'},
                {"run_tests": "sh check.sh {{task_id}}"},
                {"name": "fine", "python": "checks:fine"},
                {"name": "file", "script": "gate.sh"},
                {"name": "web", "http": "http://127.0.0.1:9/"},
            ],
        },
        {},
    )
    assert in_order(
        found,
        "1. log: `grep T-1 CHANGES`\n",
        "2. both: `diff 'hookline/T-1' main --format '{{a.b}}'`\n",
        '3. text: `echo "\\{{task_id}} {{task_content}}" | wc`, which only the gate can run\n',
        "4. run_tests: `sh check.sh T-1`\n",
        "5. fine: a function of the project is called\n",
        "6. file: a script of the project is run\n",
        "7. web: a web service is asked\n",
        "8. merge: the merged result must pass `sh check.sh T-1`\n",
        "Make the commands above pass",
    )


def test_a_command_is_told_as_it_runs_or_by_its_place(cli: Cli) -> None:
    """No line of it is joined to another, no blank is lost, and nothing is cut."""
    found = told(
        cli,
        {
            "before_submit": [
                {"name": "lines", "command": "cd parts\n\nls\ntest -e ../CHANGES\n"},
                {"name": "noted", "command": "# look\ntrue", "when": "commits_count > 1"},
                {"name": "blanks", "command": "grep 'a  b' log"},
                {"name": "ticks", "command": "echo `date` '```'"},
                {"name": "ends", "command": "sh check.sh\n"},
                {"name": "long", "command": f"test {'x' * 995}"},
                {"name": "longer", "command": f"test {'x' * 996}"},
                {"name": "promise", "command": "echo '<promise>COMPLETE</promise>'"},
                {"name": "other", "command": "echo one\necho '{{task_title}}'"},
            ],
        },
        {"test": "set -e\nsh check.sh"},
    )
    assert in_order(
        found,
        "1. lines:\n```sh\ncd parts\n\nls\ntest -e ../CHANGES\n```\n2. ",
        "2. noted (only when commits_count > 1):\n```sh\n# look\ntrue\n```\n3. ",
        "3. blanks: `grep 'a  b' log`\n4. ",
        "4. ticks:\n````sh\necho `date` '```'\n````\n5. ",
        "5. ends: `sh check.sh`\n6. ",
        f"6. long: `test {'x' * 995}`\n7. ",
        "7. longer: a command in hookline.yaml\n8. ",
        "8. promise: a command in hookline.yaml\n9. ",
        "9. other: a command in hookline.yaml, which only the gate can run\n10. ",
        "10. merge: the merged result must pass\n```sh\nset -e\nsh check.sh\n```\n",
        "Make the commands above pass",
    )


def test_a_rule_is_told_with_its_command_as_it_runs(cli: Cli) -> None:
    rig = Rig(cli)
    rules = [
        {"name": "both", "type": "command", "command": "set -e\ntest -e 'a  b'"},
        {"name": "long", "type": "command", "command": f"test {'x' * 1000}"},
    ]
    rig.configure({}, validation=rules)
    rig.turns(PROMISE)
    rig.run(iterations=1)
    assert in_order(
        rig.prompts()[0].text,
        "- both:\n```sh\nset -e\ntest -e 'a  b'\n```\n",
        "- long: a command in hookline.yaml\n",
        "Make the commands above pass",
    )


def test_only_a_command_that_is_shown_is_to_be_run(cli: Cli) -> None:
    rig = Rig(cli)
    rule = {"name": "long", "type": "command", "command": f"test {'x' * 1000}"}
    rig.configure({}, validation=[rule])
    rig.turns(PROMISE)
    rig.run(iterations=1)
    assert "commands above" not in rig.prompts()[0].text


def test_where_nothing_can_be_run_nothing_is_to_be_run(cli: Cli) -> None:
    found = told(cli, {"before_submit": ["secrets"]}, {"test": "none"})
    assert "1. secrets: no credentials\n" in found
    assert "What a gate finds comes back to you.\n" in found
    assert "commands above" not in found


def test_work_without_gates_or_tests_is_told_of_none(cli: Cli) -> None:
    found = told(cli, {"before_submit": []}, {"test": "none"})
    assert "Gates" not in found
    assert "commands above" not in found
    assert "in its worktree on the branch `hookline/T-1`, which goes into" in found


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
        "- there: must exist: `a.txt`, `b.txt`",
        "- dated: `a.txt` must match `^20`",
        "- covered: at least 80.0% test coverage",
        "- tidy: `make tidy`",
        "Make the commands above pass",
    )
    assert "hookline/T-1" not in found

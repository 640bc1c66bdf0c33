"""What `check` says about the fields that a `when` looks at, and how long `changed()` may take."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

WRONG = [
    ("task_created", "task.gaol == 'x'", "there is no 'gaol' in task (did you mean 'goal'?)"),
    ("task_created", "task['labls']", "there is no 'labls' in task (did you mean 'labels'?)"),
    ("task_created", "True or task.titel", "there is no 'titel' in task"),
    ("task_claimed", "task.claim.agnet", "no 'agnet' in task.claim (did you mean 'agent'?)"),
    ("task_created", "event.typ == 'x'", "there is no 'typ' in event (did you mean 'type'?)"),
    ("own_event", "event.nodeid", "there is no 'nodeid' in event (did you mean 'nodeId'?)"),
    ("hook_error", "event.data.originalEvent.typ", "no 'typ' in event.data.originalEvent"),
    ("stop", "validationResults[0].pased", "did you mean 'passed'?"),
    ("stop", "completionPromises[0]['typ']", "did you mean 'type'?"),
]
FINE = [
    ("task_created", "task.goal and task['labels'][0] and event.data.anything"),
    ("task_claimed", "task.claim.token > 1 and event.metadata.whatever"),
    ("own_event", "event.data.gaol and event.nodeId and task.id"),
    ("stop", "validationResults[0].passed and work.anything and filesModified[0:1]"),
    ("before_submit", "extra.anything and task_title and len(branch_name)"),
    ("on-run-start", "flow == 'x'"),
]


def configure(cli: Cli, lines: list[tuple[str, str]]) -> None:
    hooks: dict[str, list[dict[str, str]]] = {}
    for point, when in lines:
        hooks.setdefault(point, []).append({"command": "true", "when": when})
    cli.configure(f"events: [own_event]\nhooks: {json.dumps(hooks)}\n", trust=False)


@pytest.mark.parametrize(("point", "when", "said"), WRONG)
def test_a_field_that_no_payload_has_is_named_with_the_nearest(
    cli: Cli, point: str, when: str, said: str
) -> None:
    configure(cli, [(point, when)])
    result = cli("check", "--json")
    assert result.code == 2
    (problem,) = result.json["problems"]
    assert problem["code"] == "bad-condition"
    assert said in problem["message"]


def test_fields_that_are_there_or_may_be_pass(cli: Cli) -> None:
    configure(cli, FINE)
    found = cli.json("check")["problems"]
    assert [each for each in found if each["code"] == "unknown-field"] == []


def test_data_of_an_event_may_have_more_so_a_likely_typo_is_a_warning(cli: Cli) -> None:
    configure(cli, [("task_blocked", "event.data.reson == 'x'"), ("task_blocked", "event.data.x")])
    found = cli.json("check")
    assert (found["errors"], found["warnings"]) == (0, 1)
    (problem,) = found["problems"]
    assert problem["code"] == "unknown-field"
    assert "there is no 'reson' in event.data (did you mean 'reason'?)" in problem["message"]


def test_changed_ends_with_the_time_of_its_hook(cli: Cli) -> None:
    cli.configure(
        """
hooks:
  task_created:
    - {name: hasty, command: "touch ran", when: "changed()", timeout: 0.2}
    - {name: plain, command: "touch plain"}
"""
    )
    subprocess.run(("git", "init", "-q", str(cli.root)), check=True)
    program = cli.put("programs/git", "#!/bin/sh\nexec sleep 60\n", 0o755)
    slow = {"PATH": f"{program.parent}{os.pathsep}{cli.env['PATH']}"}
    assert cli("task", "add", "x", env=slow).code == 0
    assert cli.calls("hasty", "status, error") == [
        ("timeout", "`changed()` timed out after 0.2 s: git did not say which files changed")
    ]
    assert not (cli.root / "ran").exists()
    assert (cli.root / "plain").exists()

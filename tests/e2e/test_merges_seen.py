"""What attention tells of a merge that is done goes away once a person has seen to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_a_hook_that_failed_after_a_merge_is_told_until_a_person_has_seen_it(cli: Cli) -> None:
    line = Pipeline(cli)
    deploy = "{name: deploy, command: 'exit 3'}"
    line.begin(f"hooks: {{before_submit: [], after_merge: [{deploy}]}}\n", remote=False)
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task, "--json").json["outcome"] == "merged"
    (item,) = cli("attention", "--json").json
    assert item["command"].endswith(f"(then: hookline gate approve {task})")

    refused = cli("gate", "reject", task)
    assert (refused.code, "git revert" in refused.stderr) == (1, True), refused
    assert cli("gate", "approve", task, env={"HOOKLINE_AGENT": "bot"}).code == 4
    seen = cli("gate", "approve", task, "--comment", "deployed by hand")
    assert (seen.code, seen.stdout) == (0, f"{task}: `attention` no longer lists its merge\n")
    assert cli.json("attention") == []
    assert cli("gate", "approve", task).code == 1

    # It is about this merge and those before it.
    line.by_hand(later := cli.add("another part"))
    assert cli("submit", later, "--json").json["outcome"] == "merged"
    assert [each["id"] for each in cli("attention", "--json").json] == [later]
    assert cli("gate", "approve", later).code == 0
    assert cli.json("attention") == []

"""What attention says about gates and merges: the reason whole, and the command that helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def attention(cli: Cli, task: str) -> dict[str, Any]:
    """What attention says of a task."""
    (item,) = (each for each in cli("attention", "--json").json if each["id"] == task)
    found: dict[str, Any] = item
    return found


def submitted(line: Pipeline, gates: str, *, remote: bool = False) -> str:
    """A task whose work was submitted to these gates."""
    line.begin(gates, remote=remote)
    task = line.cli.add("a part")
    line.by_hand(task)
    return task


@pytest.mark.parametrize(
    ("gate", "hint"),
    [
        ("{name: g, command: no-such-program}", "install the program"),
        ("{run_tests: no-such-program}", "install the program"),
        ("{name: g, command: sleep 60, timeout: 0.2}", "give g more time with `timeout:`"),
    ],
)
def test_a_gate_that_cannot_run_is_for_a_person(
    line: Pipeline, cli: Cli, gate: str, hint: str
) -> None:
    task = submitted(line, f"hooks: {{before_submit: [{gate}]}}\n")
    assert cli("submit", task, "--json").json["outcome"] == "sent_back"
    item = attention(cli, task)
    assert item["command"] == f"hookline submit {task}"  # and no agent, which could do nothing
    assert hint in item["message"]


def test_edits_in_the_way_are_put_away(line: Pipeline, cli: Cli) -> None:
    task = submitted(line, "gates: {test: 'true'}\nhooks: {before_submit: []}\n")
    cli.put("log", "my own edit\n")
    cli.put("README", "not in the way\n")
    assert cli("submit", task, "--json").json["outcome"] == "sent_back"
    item = attention(cli, task)
    stash = f"git -C {cli.root} --literal-pathspecs stash push --include-untracked -- log"
    assert item["command"] == f"{stash} && hookline submit {task}"
    line.git(*stash.split()[1:])
    assert (cli.root / "README").read_text() == "not in the way\n"
    assert cli("submit", task, "--json").json["outcome"] == "merged"


def test_a_refused_push_is_told_as_such(line: Pipeline, cli: Cli) -> None:
    task = submitted(line, "gates: {test: 'true'}\nhooks: {before_submit: []}\n", remote=True)
    hook = line.remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho protected; exit 1\n")
    hook.chmod(0o755)
    assert cli("submit", task, "--json").json["outcome"] == "sent_back"
    item = attention(cli, task)
    assert item["command"] == f"hookline submit {task}"
    assert "the remote refused the push" in item["message"]


def test_whoever_has_to_decide_is_told_how_to_look(line: Pipeline, cli: Cli) -> None:
    task = submitted(line, "hooks: {before_submit: [human: Is it good?]}\n")
    cli("submit", task, "--json")
    item = attention(cli, task)
    assert item["command"] == f"hookline gate approve {task} (or: reject)"
    look = f"git diff main...hookline/{task}"
    assert look in item["message"]
    assert "+by hand" in line.git(*look.split()[1:])


def test_reasons_are_shown_whole(line: Pipeline, cli: Cli) -> None:
    words = " ".join(f"word{number}" for number in range(120))
    task = submitted(line, f"hooks: {{before_submit: [human: {words}]}}\n")
    cli("submit", task, "--json")
    lines = cli("attention").stdout.splitlines()
    assert " ".join(line.strip() for line in lines).count("word") == 120
    assert max(map(len, lines)) <= 100


@pytest.mark.torture
def test_a_gate_that_waits_is_shown_and_not_for_ever(line: Pipeline, cli: Cli) -> None:
    cli.put("later.json", '{"status": "pending", "message": "later", "retryAfter": 1}')
    slow = "{name: slow, command: 'cat later.json; exit 75'}"
    task = submitted(line, f"gates: {{max_wait: 1}}\nhooks: {{before_submit: [{slow}]}}\n")
    process = cli.start("submit", task, "--json")
    try:
        found = eventually_pending(cli, task)
        assert "slow at before_submit waits" in found["message"]
        assert found["command"] == f"hookline submit {task}"
    finally:
        process.terminate()
        process.communicate()
    # It is asked again, and has waited for more than a second by then.
    result = cli("submit", task, "--json")
    assert result.json["outcome"] == "sent_back"
    assert "it waits for longer than 1 s (`gates.max_wait`)" in result.json["reason"]
    assert cli.task(task)["state"] == "needs_continuation"
    # No agent can end the wait.
    (item,) = (each for each in cli("attention", "--json").json if each["id"] == task)
    assert item["command"] == f"hookline submit {task}"
    assert "slow still waits: deal with what it names, then ask it again" in item["message"]


@pytest.mark.examples(1)
@pytest.mark.parametrize("point", ["before_submit", "before_merge"])
def test_what_waited_too_long_is_merged_by_the_command(
    line: Pipeline, cli: Cli, point: str
) -> None:
    cli.put("later.json", '{"status": "pending", "message": "later", "retryAfter": 1}')
    slow = f"{{name: slow, command: '[ -e {line.box}/done ] || {{ cat later.json; exit 75; }}'}}"
    hooks = (
        f"{{before_submit: [], {point}: [{slow}]}}"
        if point == "before_merge"
        else f"{{{point}: [{slow}]}}"
    )
    task = submitted(line, f"gates: {{max_wait: 1}}\nhooks: {hooks}\n")
    assert cli("submit", task, "--json").json["outcome"] == "sent_back"
    (item,) = (each for each in cli("attention", "--json").json if each["id"] == task)
    (line.box / "done").touch()
    assert cli.json(*item["command"].split()[1:])["outcome"] == "merged"


def eventually_pending(cli: Cli, task: str) -> dict[str, Any]:
    """What attention says once the gate has answered."""
    found: list[dict[str, Any]] = []

    def is_there() -> bool:
        said = cli("attention", "--json").json
        found[:] = [each for each in said if each["kind"] == "gate" and each["id"] == task]
        return bool(found)

    eventually(is_there, "the gate in attention")
    return found[0]


def test_a_failure_after_the_merge_is_not_silent(line: Pipeline, cli: Cli) -> None:
    deploy = "{name: deploy, command: 'test -e ../fixed || { echo no route; exit 1; }'}"
    gates = "gates: {test: 'true'}\n"
    task = submitted(line, f"{gates}hooks: {{before_submit: [], after_merge: [{deploy}]}}\n")
    assert cli("submit", task, "--json").json["outcome"] == "merged"
    item = attention(cli, task)
    assert (item["kind"], item["command"].split()[:2]) == ("after_merge", ["hookline", "why"])
    assert "merged, but deploy failed" in item["message"]
    assert "no route" in cli("gate", "list", task).stdout  # what it printed
    assert [each["output"] for each in cli.json("gate", "list", task) if each["hook"] == "deploy"]

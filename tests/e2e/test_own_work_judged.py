"""Nobody judges a task that they worked on, in whichever session that was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

APPROVE = json.dumps({"verdict": "approve", "summary": "Fine.", "comments": []})
PASS = json.dumps({"status": "success", "message": "Fine."})
# Asked for a verdict it approves; at work it commits, and says that it is not done.
QA = f"""\
case $(cat) in
  *"You review the work"*) echo "$HOOKLINE_AGENT" >> "$HOOKLINE_PROJECT/judged"; echo '{APPROVE}';;
  *"Is it good?"*) echo "$HOOKLINE_AGENT" >> "$HOOKLINE_PROJECT/judged"; echo '{PASS}';;
  *) echo code > code.txt; git add -A; git commit -qm code; echo "not done yet";;
esac
"""
ADA = "cat > /dev/null; echo more > note.txt; echo '<promise>COMPLETE</promise>'\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def configure(line: Pipeline, gates: str, keepers: str = "qa") -> None:
    """Three agents, of which qa and ada may work on tasks of the type f."""
    for name, script in (("qa", QA), ("ada", ADA)):
        (line.box / f"{name}.sh").write_text(script)
    of = "{{driver: command, command: 'sh {0}/{1}.sh'}}".format
    agents = {"qa": "qa", "eve": "qa", "ada": "ada"}
    profiles = ", ".join(f"{name}: {of(line.box, script)}" for name, script in agents.items())
    line.begin(
        f"hooks: {{before_submit: [{gates}]}}\nsession: {{iterations: 1}}\n"
        "gates: {test: 'true'}\n"
        f"task_types: {{f: {{agents: {{implementer: [qa, ada], gatekeeper: [{keepers}]}}}}}}\n",
        agents=f"agents: {{{profiles}}}\n",
    )


def begin(line: Pipeline, gates: str, keepers: str = "qa") -> str:
    """A task that qa began and ada ended."""
    configure(line, gates, keepers)
    task = line.cli.add("a part", "--type", "f")
    assert line.cli("run", "--task", task, "--agent", "qa").code == 5
    assert line.cli("run", "--task", task, "--agent", "ada").code == 0
    return task


def judged(line: Pipeline) -> list[str]:
    found = line.cli.root / "judged"
    return found.read_text().split() if found.exists() else []


def test_who_worked_in_an_earlier_session_does_not_judge(line: Pipeline, cli: Cli) -> None:
    task = begin(line, "{gatekeeper: [qa]}")
    explained = cli("gate", "explain", task)
    assert "there is no gatekeeper 'qa' except qa, the author of this work" in explained.stderr
    assert cli("submit", task).code == 3
    assert (judged(line), line.merges()) == ([], [])
    reason = cli.task(task)["blockReason"]
    assert f"no agent is left to review {task}: qa worked on it" in reason
    let_pass = f"hookline gate override {task} gatekeeper --reason"
    assert let_pass in reason
    (item,) = cli("attention", "--json").json
    assert item["command"] == f"{let_pass} TEXT"
    cli.json("gate", "override", task, "gatekeeper", "--reason", "I read it")
    assert cli("submit", task).code == 0
    assert line.merges() == [task]


def test_whoever_is_left_judges_alone(line: Pipeline, cli: Cli) -> None:
    task = begin(line, "{gatekeeper: [reviewer]}", keepers="qa, eve")
    assert cli("submit", task).code == 0
    assert judged(line) == ["eve"]
    assert line.merges() == [task]


def test_an_agent_that_a_hook_asks_does_not_judge_its_own_work(line: Pipeline, cli: Cli) -> None:
    task = begin(line, "{name: look, agent: qa, prompt: 'Is it good?'}")
    assert cli("submit", task).code == 3
    assert (judged(line), line.merges()) == ([], [])
    assert "qa worked on it" in cli.task(task)["blockReason"]


def test_who_claimed_a_task_outside_of_sessions_does_not_judge_it(line: Pipeline, cli: Cli) -> None:
    configure(line, "{gatekeeper: [eve]}")
    task = cli.add("a part")
    line.by_hand(task)
    eve = {"HOOKLINE_AGENT": "eve"}
    cli.json("task", "claim", task, env=eve)
    cli.json("task", "release", task, env=eve)
    assert cli("submit", task, "--agent", "ada").code == 3
    assert (judged(line), line.merges()) == ([], [])
    assert "eve worked on it" in cli.task(task)["blockReason"]


def test_check_warns_where_nobody_could_ever_judge(line: Pipeline, cli: Cli) -> None:
    configure(line, "{gatekeeper: [qa]}", keepers="qa")
    (found,) = [each for each in cli.json("check")["problems"] if each["code"] == "own-work"]
    assert (
        found["message"]
        == "no other agent can review the work of qa on tasks of type f at before_submit"
    )
    cli.put("hookline.yaml", (cli.root / "hookline.yaml").read_text().replace("[qa, ", "["))
    assert "own-work" not in {each["code"] for each in cli.json("check")["problems"]}

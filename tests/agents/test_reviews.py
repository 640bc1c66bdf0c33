"""The real Claude Code and Codex review work: the schema is theirs by their own means."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.model import Reply, Rule
from tests.agents.session_desk import PATIENCE, WORKERS
from tests.prompts.snapshots import same_as

if TYPE_CHECKING:
    from pathlib import Path

    from tests.agents.conftest import Script
    from tests.agents.model import Asked
    from tests.e2e.pipeline_rig import Pipeline

GATES = "hooks: {before_submit: [run_tests, {gatekeeper: [reviewer]}]}\n"
SIGN = {"file": "parts/T-1", "line": 1, "blocking": True, "comment": "Add your name."}
ASKS = {"verdict": "request_changes", "summary": "It is not signed.", "comments": [SIGN]}
APPROVES = {"verdict": "approve", "summary": "It is signed.", "comments": []}
BEGIN = "You review the work of another agent"
pytestmark = pytest.mark.timeout(3 * PATIENCE)


def schema(driver: str, asked: Asked) -> Any:
    """The schema that the agent holds its model to."""
    if driver == "codex":
        return asked.body["text"]["format"]["schema"]
    (tool,) = (each for each in asked.body["tools"] if each["name"] == "StructuredOutput")
    return tool["input_schema"]


@pytest.mark.parametrize(
    "driver", ["claude-code", pytest.param("codex", marks=pytest.mark.torture)]
)
def test_a_real_agent_reviews_by_its_own_structured_output(
    line: Pipeline, scripted: Script, tmp_path: Path, driver: str
) -> None:
    """First an answer that is no verdict, then changes, and an approval once they are made."""
    worker, cli = WORKERS[driver], line.cli
    bot = {"driver": "command", "command": f"sh {line.box}/agent.sh"}
    agents = {"bot": bot, "reviewer": worker.profile()}
    line.begin(GATES, agents=f"agents: {json.dumps(agents)}\nagent: bot\n")
    line.turn("echo by bot >> parts/T-1\n")
    task = cli.add("a part", "--deliverable", "a signed part", "--note", "sign with a name")
    line.by_hand(task)
    model = scripted(
        Rule("could not be used", worker.review(ASKS)),
        Rule("Earlier reviews", worker.review(APPROVES)),
        Rule("", Reply(text="Looks good to me.")),
    )
    cli.env |= worker.environment(model, tmp_path / "agent-home")

    done = cli("submit", task, "--agent", "bot")
    assert (done.code, line.merges()) == (0, [task]), (done.stderr, model.requests)
    assert [status for _, status in line.verdicts(task)] == ["success", "failure"] + 2 * ["success"]
    first = model.requests[0]
    again = next(each for each in model.requests if "could not be used" in each.newest)
    same_as("review-native", str(first.prompt))
    assert "JSON Schema" not in first.newest
    assert "End your last message" not in first.newest
    verdict = schema(driver, first)["properties"]["verdict"]
    assert verdict == {"type": "string", "enum": ["approve", "request_changes"]}
    # The second question is asked in the conversation of the first, and does not repeat it.
    assert BEGIN in again.history
    assert BEGIN not in again.newest
    assert "it does not end with the JSON object" in again.newest
    assert "- blocking, parts/T-1:1: Add your name." in line.prompts(task)[0]

"""What a pull request says of the turns that its work has cost, and that it stays true."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline

HOOKS = "before_submit: [create_pr], before_merge: [gatekeeper: [qa], human: Good?]"
PROMISE = "<promise>COMPLETE</promise>"
WORK = "echo $HOOKLINE_TASK_ID > log; echo x >> parts/$HOOKLINE_TASK_ID"
ASKS = {"verdict": "request_changes", "summary": "No.", "comments": ["Sign it."]}
APPROVES = {"verdict": "approve", "summary": "Fine.", "comments": []}


def agents(cli: Cli) -> str:
    """Agents that tell what each of their turns used; the price of qa is told by nobody."""
    scripts: dict[str, list[dict[str, Any]]] = {
        "bot": [
            {
                "text": PROMISE,
                "run": WORK,
                "usage": {"inputTokens": 1000, "outputTokens": 234, "usd": 0.5},
                "repeat": True,
            }
        ],
        "qa": [
            {"text": json.dumps(ASKS), "usage": {"inputTokens": 30, "outputTokens": 3}},
            {"text": json.dumps(APPROVES), "usage": {"inputTokens": 40, "outputTokens": 4}},
        ],
    }
    for name, turns in scripts.items():
        cli.put(f"{name}.json", json.dumps(turns))
    profiles = {name: {"driver": "scripted", "script": f"{name}.json"} for name in scripts}
    return f"agents: {json.dumps(profiles)}\nagent: bot\n"


@pytest.mark.torture
def test_each_role_s_cost_is_told_and_kept_up_to_date(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    line.begin_at(hub, hooks=HOOKS, agents=agents(cli))
    task = cli.add("a part")
    line.worker(code=4)  # a person has the last word
    told = [
        asked.body["body"].partition("## Cost\n\n")[2].splitlines()
        for asked in hub.asked
        if asked.method == "PATCH" and "body" in asked.body
    ]
    worked, fixed = (f"- {role} bot: 1 turn, 1234 tokens, $0.50" for role in ("implementer", "fix"))
    judged, again = "- gatekeeper qa: 1 turn, 33 tokens", "- gatekeeper qa: 2 turns, 77 tokens"
    assert told[0] == [worked], "before anybody judged"
    assert told[1] == [worked, judged]
    whole = [worked, again, fixed]
    (pull,) = hub.pulls.values()
    assert told[-1] == pull["body"].partition("## Cost\n\n")[2].splitlines() == whole
    cost = cli.task(task)["cost"]
    assert (cost["inputTokens"] + cost["outputTokens"], cost["usd"]) == (2545, 1.0)

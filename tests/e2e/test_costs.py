"""What every turn of every agent costs: told, counted and limited together, whoever takes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.report_file import ReportFile
from tests.e2e.session_rig import Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

PROMISE = "<promise>COMPLETE</promise>"
APPROVE = json.dumps({"verdict": "approve", "summary": "Fine.", "comments": []})
CHANGES = json.dumps({"verdict": "request_changes", "summary": "No.", "comments": ["Sign it."]})
# What a turn of each agent costs, in tokens in, tokens out, and dollars.
PRICES = {"bot": (90, 10, 0.5), "qa": (30, 3, 0.25), "helper": (7, 1, 0.125)}
PIPELINE = """\
session: {plan: true}
hooks:
  before_submit: []
  before_merge: [{gatekeeper: [qa]}]
  post_iteration: [{name: advice, agent: helper, prompt: "Any advice?"}]
"""


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def _agents(line: Pipeline, turns: dict[str, list[dict[str, Any]]]) -> str:
    """Scripted agents that keep a ledger of their own: a line for each turn."""
    profiles = {}
    for name, script in turns.items():
        given, made, usd = PRICES[name]
        usage = {"inputTokens": given, "outputTokens": made, "usd": usd}
        written = [
            {
                **turn,
                "run": f"echo {name} >> {line.box}/ledger; {turn.get('run', ':')}",
                "usage": usage,
                "repeat": True,
            }
            for turn in script
        ]
        line.cli.put(f"{name}.json", json.dumps(written))
        profiles[name] = {"driver": "scripted", "script": f"{name}.json", "model": "m1"}
    return f"agents: {json.dumps(profiles)}\nagent: bot\n"


def _ledger(line: Pipeline) -> dict[str, int]:
    written = (line.box / "ledger").read_text().split()
    return {name: written.count(name) for name in PRICES}


@pytest.mark.torture
def test_the_turns_of_everybody_are_counted_for_the_task(line: Pipeline, cli: Cli) -> None:
    work = "echo $HOOKLINE_TASK_ID > log; echo x >> parts/$HOOKLINE_TASK_ID"
    turns = {
        "bot": [{"text": "planned"}, {"text": PROMISE, "run": work}],
        "qa": [{"text": CHANGES}, {"text": APPROVE}],
        "helper": [{"text": "Be brief."}],
    }
    line.begin(PIPELINE, agents=_agents(line, turns))
    task = cli.add("a part")
    ended = line.worker()
    assert ended["merged"] == [task]

    made = _ledger(line)
    assert made["qa"] == 2
    cost = cli.task(task)["cost"]
    roles = {(each["role"], each["agent"]): each for each in cost["roles"]}
    assert {key: each["turns"] for key, each in roles.items()} == {
        ("planner", "bot"): 1,
        ("implementer", "bot"): made["bot"] - 2,
        ("hook", "helper"): made["helper"],
        ("gatekeeper", "qa"): 2,
        ("fix", "bot"): 1,
    }
    assert cost["turns"] == sum(made.values())
    assert cost["inputTokens"] == sum(PRICES[name][0] * n for name, n in made.items())
    assert cost["outputTokens"] == sum(PRICES[name][1] * n for name, n in made.items())
    assert cost["usd"] == sum(PRICES[name][2] * n for name, n in made.items())
    assert cost["seconds"] > 0
    # One bookkeeping: the summary, the task, its gates and the report tell the same.
    assert (ended["usd"], ended["cost"]) == (cost["usd"], cost)
    judged = [each["cost"] for each in cli.json("gate", "list", task) if each["hook"] is not None]
    assert [(each["turns"], each["usd"]) for each in judged] == [(1, 0.25), (1, 0.25)]
    shown, listed = cli("task", "show", task).stdout, cli("gate", "list", task).stdout
    whole = f"${cost['usd']:.2f}, {cost['inputTokens'] + cost['outputTokens']} tokens"
    for text in (shown, listed):
        assert whole in text
        assert "gatekeeper   qa (m1)                  $0.50, 66 tokens" in text
    assert "agent_turn" not in shown
    report = ReportFile(cli("session", "report", "R-1", "-o", "-").stdout)
    assert report.session["cost"] == cost


@pytest.mark.torture
def test_a_limit_of_money_counts_those_who_judge(line: Pipeline, cli: Cli) -> None:
    work = "echo $HOOKLINE_TASK_ID >> log; echo x > parts/$HOOKLINE_TASK_ID"
    turns = {"bot": [{"text": PROMISE, "run": work}], "qa": [{"text": APPROVE}]}
    judged = "hooks: {before_submit: [], before_merge: [{gatekeeper: [qa]}]}\n"
    line.begin(judged, agents=_agents(line, turns))
    first = cli.add("a part")
    second = cli.add("another", "--depends-on", first)
    ended = line.worker("--usd", "0.7", code=5)
    assert (ended["limit"], ended["begun"], ended["usd"]) == ("usd", 1, 0.75)
    assert cli.task(second)["state"] == "ready"
    said = cli("work", "--once", "--usd", "0.7").stdout
    assert "$0.75, 133 tokens (implementer bot $0.50, 100 tokens; gatekeeper qa $0.25," in said


def test_the_budget_of_a_session_counts_the_agents_that_its_hooks_ask(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    answer = {"text": "Be brief.", "usage": {"inputTokens": 5, "usd": 0.4}, "repeat": True}
    rig.configure(
        {"post_iteration": [{"name": "advice", "agent": "helper", "prompt": "Any advice?"}]},
        agents={"bot": rig.free_bot, "helper": rig.scripted(answer)},
        session={"budget": {"usd": 0.7}},
    )
    ended = rig.run(iterations=9)
    assert ended.said == (5, "limit", "usd")
    assert ended.data["iterations"] == 2
    used = rig.data("session_iteration_ended")
    assert [(each["usd"], each["tokens"]) for each in used] == [(0.4, 5), (0.4, 5)]


def test_a_turn_without_a_task_is_counted_where_it_belongs(cli: Cli) -> None:
    cli.put("turns.json", json.dumps([{"text": '{"actions": []}', "usage": {"usd": 1}}]))
    cli.configure(
        "events: [ping]\n"
        "agents: {it: {driver: scripted, script: turns.json}}\n"
        "hooks: {ping: [{name: look, agent: it, prompt: Look.}]}\n"
    )
    assert cli("emit", "ping").code == 0
    *_, turn = cli.events("agent_turn")
    assert (turn["nodeId"], turn["data"]["role"], turn["data"]["usd"]) == ("system", "hook", 1)
    refused = cli.refused("emit", "agent_turn")[1]
    assert refused["code"] == "reserved-event"

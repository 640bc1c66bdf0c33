"""A limit on money holds, or the session is refused before it starts."""

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
PRICES = {"input": 2.0, "output": 10.0, "cached_input": 0.5}
# 600,000 x $2 + 400,000 x $0.5 + 100,000 x $10, each a million
USAGE = {"inputTokens": 1_000_000, "cachedTokens": 400_000, "outputTokens": 100_000}
COST = 2.4


@pytest.fixture
def rig(cli: Cli) -> Rig:
    return Rig(cli)


def priced(rig: Rig, *turns: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**rig.scripted(*turns), "prices": PRICES, **more}


def agents(rig: Rig) -> dict[str, Any]:
    """Agents that report tokens alone; each is a program that is there."""
    for name in ("codex", "gemini"):
        rig.cli.put(f"bin/{name}", "#!/bin/sh\nexit 1\n", 0o755)
    rig.cli.env["PATH"] = f"{rig.cli.root}/bin:{rig.cli.env['PATH']}"
    return {
        "codex": {"driver": "codex"},
        "gemini": {"driver": "acp", "command": "gemini --acp"},
    }


def test_money_is_computed_from_tokens_and_said_to_be(rig: Rig, cli: Cli) -> None:
    turn = {"text": "working", "usage": USAGE, "repeat": True}
    rig.configure(agents={"ada": priced(rig, turn)})
    ended = rig.run("--agent", "ada", "--usd", "4", iterations=9)
    assert ended.said == (5, "limit", "usd")
    assert ended.data["iterations"] == 2
    cost = cli.task("T-1")["cost"]
    assert (cost["usd"], cost["computed"]) == (2 * COST, 2 * COST)
    assert "$4.80 (computed from tokens), 2.2M tokens" in cli("task", "show", "T-1").stdout
    [first, *_] = [each for each in rig.data("agent_turn") if not each.get("unfinished")]
    assert (first["usd"], first["computed"]) == (COST, True)
    cli("session", "report", "s")
    report = ReportFile((cli.root / ".hookline/reports/R-1.html").read_text())
    assert (report.session["cost"]["usd"], report.session["cost"]["computed"]) == (2 * COST,) * 2


def test_the_live_view_says_so_too(rig: Rig, cli: Cli) -> None:
    turn = {"text": PROMISE, "usage": USAGE}
    rig.configure(agents={"ada": priced(rig, turn)})
    said = cli("run", "do it", "--agent", "ada", "--name", "s")
    assert "$2.40 computed" in said.stderr


def test_prices_count_instead_of_what_the_agent_reports(rig: Rig, cli: Cli) -> None:
    turn = {"text": PROMISE, "usage": {**USAGE, "usd": 99.0}}
    rig.configure(agents={"ada": priced(rig, turn)})
    assert rig.run("--agent", "ada").code == 0
    assert cli.task("T-1")["cost"]["usd"] == COST


def test_of_a_sum_only_what_is_computed_is_said_to_be(rig: Rig, cli: Cli) -> None:
    helper = {"text": "Be brief.", "usage": {"usd": 1.0}}
    cli.put("helper.json", json.dumps([helper]))
    rig.configure(
        {"post_iteration": [{"agent": "helper", "prompt": "Any advice?"}]},
        agents={
            "ada": priced(rig, {"text": PROMISE, "usage": USAGE}),
            "helper": {"driver": "scripted", "script": "helper.json"},
        },
    )
    assert rig.run("--agent", "ada").code == 0
    assert "$3.40 ($2.40 computed from tokens)" in cli("task", "show", "T-1").stdout


@pytest.mark.parametrize(
    ("name", "words", "help"),
    [
        ("codex", "agent 'codex' reports tokens, but not what they cost", "agents.codex.prices"),
        ("gemini", "agent 'gemini' reports tokens, but not what they cost", "or limit its tokens"),
        ("bot", "agent 'bot' reports neither money nor tokens", "limit its iterations or minutes"),
    ],
)
def test_a_limit_that_cannot_hold_is_refused_before_anything_starts(
    rig: Rig, cli: Cli, name: str, words: str, help: str
) -> None:
    rig.configure(agents=agents(rig))
    code, error = cli.refused("run", "do it", "--agent", name, "--usd", "5")
    assert (code, error["message"]) == (2, f"a limit of $5.00 cannot be enforced: {words}")
    assert help in error["help"]
    assert cli.json("task", "list") == []
    rig.configure(agents=agents(rig), session={"budget": {"usd": 3}})
    code, error = cli.refused("run", "do it", "--agent", name)
    assert (code, error["message"]) == (2, f"a limit of $3.00 cannot be enforced: {words}")


def test_prices_make_it_hold(rig: Rig, cli: Cli) -> None:
    profiles = {name: {**each, "prices": PRICES} for name, each in agents(rig).items()}
    rig.configure(agents=profiles, session={"budget": {"usd": 3}})
    for name in profiles:
        ended = rig.run("--agent", name, name=name)
        assert ended.code == 4  # it starts; these programs cannot work
    rig.configure(agents={"bot": {**rig.bot, "prices": PRICES}})
    assert cli.refused("run", "do it", "--agent", "bot", "--usd", "5")[0] == 2
    rig.configure(agents={"bot": rig.free_bot})
    rig.turns(f"echo '{PROMISE}'")
    assert rig.run("--usd", "5", name="free").code == 0


def test_a_worker_is_refused_its_limit_as_well(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin()
    code, error = cli.refused("work", "--once", "--usd", "5")
    assert (code, error["code"]) == (2, "bad-input")
    assert "agent 'bot' reports neither money nor tokens" in error["message"]


def test_a_session_cannot_be_resumed_with_a_limit_that_does_not_hold(rig: Rig, cli: Cli) -> None:
    rig.configure()
    assert rig.run(iterations=1).code == 5
    code, error = cli.refused("run", "--resume", "--name", "s", "--iterations", "9", "--usd", "5")
    assert (code, "cannot be enforced" in error["message"]) == (2, True)


def test_check_warns_of_each_agent_for_which_the_budget_cannot_hold(rig: Rig, cli: Cli) -> None:
    priced_one = {"driver": "codex", "prices": PRICES}
    claude = {"driver": "claude-code"}
    everybody = {**agents(rig), "priced": priced_one, "claude": claude}
    rig.configure(agents=everybody, session={"budget": {"usd": 3}})
    found = [each for each in cli.json("check")["problems"] if each["code"] == "unpriced"]
    assert {each["message"] for each in found} == {
        "`budget.usd` cannot be enforced: agent 'codex' reports tokens, but not what they cost",
        "`budget.usd` cannot be enforced: agent 'gemini' reports tokens, but not what they cost",
        "`budget.usd` cannot be enforced: agent 'bot' reports neither money nor tokens",
    }
    rig.configure(agents=everybody)
    assert all(each["code"] != "unpriced" for each in cli.json("check")["problems"])


@pytest.mark.parametrize(
    "prices", [{"input": 1}, {"input": -1, "output": 1}, {"input": 1, "output": 1, "in": 1}, 3]
)
def test_prices_that_are_none_are_refused(rig: Rig, cli: Cli, prices: Any) -> None:
    text = f"agents: {json.dumps({'bot': {**rig.bot, 'prices': prices}})}\n"
    cli.configure(text, trust=False)
    assert cli("check", "--json").json["errors"] == 1

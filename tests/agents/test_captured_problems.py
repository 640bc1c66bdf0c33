"""What real agents print and record about problems, as captured, and what their drivers make of it.

`captured/` has a file for each agent: by problem, its lines or answers, and what it recorded.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.config.types import Agent
from tests.agents import fake_acp, problems
from tests.agents.problem_lab import NO_LOGIN, NO_NETWORK
from tests.agents.rig import Desk

CAPTURED = Path(__file__).with_name("captured")
LOGIN, KEY, CREDIT, MODEL = "login", "key", "credit", "model"
BUSY, AWAY = "overloaded", "unreachable"
TOLD = {
    NO_LOGIN: LOGIN,
    problems.KEY: KEY,
    problems.CREDIT: CREDIT,
    problems.MODEL: MODEL,
    problems.RATE: BUSY,
    problems.BROKEN: BUSY,
    problems.BUSY: BUSY,
    NO_NETWORK: AWAY,
}
# What an agent does not tell apart. That a variable is missing only Codex's words say.
UNTOLD: dict[str, dict[str, str | None]] = {
    "codex": {NO_LOGIN: None},
}
TITLES = {
    "claude": "Claude Code",
    "codex": "Codex",
    "opencode": "OpenCode",
    "gemini": "Gemini CLI",
    "copilot": "Copilot CLI",
    "qwen": "Qwen Code",
}
LOGINS = {
    "claude": "claude auth login",
    "codex": "codex login",
    "opencode": "opencode auth login",
    "gemini": "gemini",
    "copilot": "copilot login",
    "qwen": "qwen",
}


def captured(agent: str, problem: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CAPTURED / f"{agent}.json").read_text())[problem]
    return found


def printing(folder: Path, driver: str, lines: list[Any]) -> Desk:
    """An agent whose program prints these lines."""
    (folder / "lines").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    path = folder / "agent"
    path.write_text(f"#!/bin/sh\ncat > /dev/null\ncat {folder}/lines\nexit 1\n")
    path.chmod(0o755)
    return Desk(folder, Agent(driver=driver, command=str(path)))


def claude(folder: Path, found: dict[str, Any]) -> Desk:
    return printing(folder, "claude-code", found["lines"])


def codex(folder: Path, found: dict[str, Any]) -> Desk:
    desk = printing(folder, "codex", found["lines"])
    record = folder / "codex/sessions/2026/11/18"
    record.mkdir(parents=True)
    thread = found["lines"][0]["thread_id"]
    text = "".join(f"{json.dumps(entry)}\n" for entry in found["record"])
    (record / f"rollout-2026-11-18T05-36-44-{thread}.jsonl").write_text(text)
    desk.env = {"CODEX_HOME": str(folder / "codex")}
    return desk


def acp(folder: Path, found: dict[str, Any]) -> Desk:
    command = f"{sys.executable} {fake_acp.__file__} plays"
    desk = Desk(folder, Agent(driver="acp", command=command))
    desk.env = {"FAKE_PLAYS": json.dumps(found), "HOME": str(folder)}
    return desk


def opencode(folder: Path, found: dict[str, Any]) -> Desk:
    place = folder / ".local/share/opencode"
    place.mkdir(parents=True)
    with sqlite3.connect(place / "opencode.db") as database:
        database.execute("CREATE TABLE message (id, session_id, time_created, data)")
        rows = [
            (f"msg_{number}", fake_acp.CONVERSATION, number, json.dumps(message))
            for number, message in enumerate(found.get("messages", ()))
        ]
        database.executemany("INSERT INTO message VALUES (?, ?, ?, ?)", rows)
    database.close()
    return acp(folder, found)


def copilot(folder: Path, found: dict[str, Any]) -> Desk:
    place = folder / ".copilot/session-state" / fake_acp.CONVERSATION
    place.mkdir(parents=True)
    events = "".join(f"{json.dumps(event)}\n" for event in found.get("events", ()))
    (place / "events.jsonl").write_text(events)
    return acp(folder, found)


def qwen(folder: Path, found: dict[str, Any]) -> Desk:
    place = folder / ".qwen/projects/-work-shop/chats"
    place.mkdir(parents=True)
    entries = "".join(f"{json.dumps(entry)}\n" for entry in found.get("record", ()))
    (place / f"{fake_acp.CONVERSATION}.jsonl").write_text(entries)
    return acp(folder, found)


DESKS = {
    "claude": claude,
    "codex": codex,
    "opencode": opencode,
    "gemini": acp,
    "copilot": copilot,
    "qwen": qwen,
}


@pytest.mark.parametrize("problem", TOLD)
@pytest.mark.parametrize("agent", DESKS)
def test_what_an_agent_says_about_a_problem_is_understood(
    tmp_path: Path, agent: str, problem: str
) -> None:
    turn = DESKS[agent](tmp_path, captured(agent, problem)).turn()
    wanted = UNTOLD.get(agent, {}).get(problem, TOLD[problem])
    assert turn.error
    if wanted in (BUSY, AWAY):
        assert turn.problem is None
        assert turn.wait is not None
        assert (turn.wait.kind, turn.wait.until) == (wanted, None)
    elif wanted is None:
        assert (turn.problem, turn.wait) == (None, None)
    else:
        assert turn.wait is None
        assert turn.problem is not None
        assert (turn.problem.kind, turn.error) == (wanted, turn.problem.told)
        assert TITLES[agent] in turn.problem.message
        assert turn.problem.command == (LOGINS[agent] if wanted in (LOGIN, KEY) else "")
    assert (turn.text, turn.tools) == ("", 0)


# Google's words for a limit that resets begin as OpenAI's for an account that is empty.
RESETS = (
    "You exceeded your current quota, please check your plan and billing details. For more"
    " information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
    "You exceeded your current quota, please check your plan and billing details.\n"
    "* Quota exceeded for metric: free_tier_requests, limit: 250\nPlease retry in 15.0s.",
)


@pytest.mark.parametrize("said", RESETS)
def test_a_limit_that_resets_is_not_an_empty_account(tmp_path: Path, said: str) -> None:
    found = captured("gemini", problems.CREDIT)
    turn = acp(tmp_path, {**found, "error": {"code": 429, "message": said}}).turn()
    assert turn.problem is None
    assert turn.wait is not None


def test_what_qwen_code_records_tells_a_usage_limit_from_too_many_requests(tmp_path: Path) -> None:
    turn = qwen(tmp_path, captured("qwen", problems.USED_UP)).turn()
    assert turn.problem is None
    assert turn.wait is not None
    assert turn.wait.kind == "usage_limit"


def test_what_qwen_code_recorded_of_an_earlier_prompt_is_over(tmp_path: Path) -> None:
    found = captured("qwen", problems.CREDIT)
    record = [*found["record"], {**found["record"][0], "uuid": "another"}]
    turn = qwen(tmp_path, {**found, "record": record}).turn()
    assert turn.problem is None
    assert turn.wait is not None
    assert turn.wait.kind == BUSY


@pytest.mark.parametrize("agent", ["opencode", "copilot"])
def test_without_its_record_an_agent_is_understood_as_far_as_it_speaks(
    tmp_path: Path, agent: str
) -> None:
    """The words of an error are shown, and those of a model are never taken for one."""
    turn = acp(tmp_path, captured(agent, problems.KEY)).turn()
    assert (turn.problem, turn.wait) == (None, None)
    if agent == "opencode":
        assert (
            turn.error
            == "the agent reports: Internal error: Incorrect API key provided. (APIError)"
        )
    else:
        assert turn.error is None
        assert "Authentication failed" in turn.text


def test_what_a_model_says_is_no_problem_of_its_agent(tmp_path: Path) -> None:
    said = "Error: Authentication failed (HTTP 401). Invalid API key. Credit balance is too low."
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": said}}
    for agent, make in (
        ("copilot", copilot),
        ("gemini", acp),
        ("qwen", qwen),
        ("opencode", opencode),
    ):
        found = captured(agent, problems.BUSY)
        info = {"agentInfo": found["agentInfo"], "authMethods": found["authMethods"]}
        folder = tmp_path / agent
        folder.mkdir()
        turn = make(
            folder, {**info, "updates": [update], "result": {"stopReason": "end_turn"}}
        ).turn()
        assert (turn.error, turn.text, turn.problem, turn.wait) == (None, said, None, None)
    lines = [
        {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": said}]}},
        {"type": "result", "subtype": "success", "is_error": False, "result": said},
    ]
    folder = tmp_path / "claude"
    folder.mkdir()
    turn = claude(folder, {"lines": lines}).turn()
    assert (turn.text, turn.problem, turn.wait) == (said, None, None)


def test_an_error_of_an_earlier_turn_is_not_that_of_this_one(tmp_path: Path) -> None:
    """A record goes on with the conversation; what counts is what came after the last prompt."""
    old = captured("copilot", problems.KEY)
    events = [*old["events"], {"type": "user.message", "data": {"content": "again"}}]
    text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "fine"}}
    fine = {**old, "events": events, "updates": [text]}
    turn = copilot(tmp_path, fine).turn()
    assert (turn.error, turn.text) == (None, "fine")
    lines = captured("codex", problems.BUSY)["lines"]
    folder = tmp_path / "codex-2"
    folder.mkdir()
    turn = codex(
        folder, {"lines": lines, "record": captured("codex", problems.KEY)["record"]}
    ).turn()
    assert turn.problem is None
    assert turn.wait is not None

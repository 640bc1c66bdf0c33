"""What people are told of, once each: what begins to wait, ended sessions, limits that are near."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import PROGRAM, Cli, eventually, kill
from tests.e2e.mcp_rig import Agent
from tests.e2e.notify_rig import Rig, rig
from tests.e2e.session_rig import HOOKLINE

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["rig"]

NOTED = {"name": "noted", "command": "printf '%s\\n' {{kind}}:{{id}}:{{outcome}} >> noted"}
PROMISE = "echo '<promise>COMPLETE</promise>'"
WAIT = "touch working; while [ ! -e go ]; do sleep 0.02; done"


def agent(line: str) -> dict[str, Any]:
    return {"agents": {"bot": {"driver": "command", "command": f"cat > /dev/null; {line}"}}}


def told(cli: Cli, *names: str, kind: str = "attention_needed") -> list[Any]:
    """Fields of what was announced, in order."""
    return [tuple(each["data"].get(name) for name in names) for each in cli.events(kind)]


# What begins to wait


def test_a_task_that_waits_is_told_once_and_once_when_it_is_over(rig: Rig) -> None:
    rig.configure(rig.webhook(), over=[rig.webhook("/over")])
    task = rig.block()
    for _ in range(2):
        rig.run("note", "add", "something else happens")
    assert [each["id"] for each in rig.messages()] == [task]
    rig.run("task", "unblock", task)
    (over,) = rig.messages("/over")
    assert over["message"] == f"{task} no longer waits for you."
    rig.run("task", "block", task, "--reason", "again")
    assert [each["message"] for each in rig.messages()][1:] == [
        f"{task} (Ship it) waits for you: it is blocked: again."
    ]


def test_every_kind_of_hook_is_told_with_the_declared_payload_and_variables(rig: Rig) -> None:
    rig.cli.put("seen.sh", "#!/bin/sh\ncat > seen.json\n", 0o755)
    rig.cli.put(
        "mine.py",
        "def look(event, context):\n"
        "    open('python', 'w').write(event.data['message'])\n"
        "    return [{'type': 'log', 'payload': {'type': 'heard', 'nodeId': event.node_id}}]\n",
    )
    answer = "cat > asked; echo '{\"actions\": []}'"
    rig.configure(
        {"command": "printf '%s|' {{kind}} {{id}} {{since}} {{message}} {{command}} > line"},
        {"script": "seen.sh"},
        {"python": "mine:look"},
        {"http": f"{rig.inbox.url}/http/{{{{id}}}}"},
        {"agent": "bot", "prompt": "Is it urgent?"},
        agents={"bot": {"driver": "command", "command": answer}},
    )
    task = rig.block()
    (event,) = rig.cli.events("attention_needed")
    data = event["data"]
    assert (event["nodeId"], data["waits"]) == (task, True)
    assert (rig.cli.root / "line").read_text().split("|")[:-1] == [
        *("task", task, data["since"]),
        f"{task} (Ship it) waits for you: it is blocked: which one?",
        f"hookline task unblock {task}",
    ]
    seen = json.loads((rig.cli.root / "seen.json").read_text())
    assert (seen["event"]["data"], seen["task"]["state"]) == (data, "blocked")
    assert (rig.cli.root / "python").read_text() == data["message"]
    (posted,) = rig.inbox.received
    assert (posted.path, posted.said["event"]["data"]) == (f"/http/{task}", data)
    assert "Is it urgent?" in (rig.cli.root / "asked").read_text()
    assert [each["nodeId"] for each in rig.cli.events("heard")] == [task]


def test_a_question_of_a_flow_is_told_and_its_answer_ends_it(rig: Rig) -> None:
    rig.configure(
        rig.webhook(),
        over=[rig.webhook("/over")],
        flows={"ask": {"steps": [{"id": "ok", "breakpoint": "Ship it?"}]}},
    )
    assert rig.cli.process("flow", "start", "ask").code == 4
    (asked,) = rig.messages()
    assert (asked["kind"], asked["id"]) == ("breakpoint", "R-1 ok")
    assert asked["message"] == "The run R-1 waits for your answer: the flow ask asks: Ship it?"
    assert asked["command"] == "hookline answer R-1 ok yes (or: no)"
    rig.run("answer", "R-1", "ok", "yes")
    assert [each["id"] for each in rig.messages("/over")] == ["R-1 ok"]


@pytest.mark.torture
def test_a_hook_that_fails_is_told_and_that_it_works_again(rig: Rig) -> None:
    rig.configure(
        rig.webhook(),
        over=[rig.webhook("/over")],
        hooks={"noted": [{"name": "broken", "command": "[ -e mended ]"}]},
        events=["noted"],
    )
    for _ in range(2):
        rig.run("emit", "noted")
    assert [(each["kind"], each["id"]) for each in rig.messages()] == [("hook", "broken")]
    rig.cli.put("mended", "")
    rig.run("emit", "noted")
    rig.block()  # the next look
    assert [each["id"] for each in rig.messages("/over")] == ["broken"]


def test_a_gate_that_waits_for_a_person_is_told_by_the_worker(rig: Rig) -> None:
    work = "cat > /dev/null; echo done > page.html; echo '<promise>COMPLETE</promise>'"
    rig.configure(
        rig.webhook(when="event.data.kind != 'session'"),
        over=[rig.webhook("/over")],
        agents={"bot": {"driver": "command", "command": work}},
        task_types={"page": {"hooks": {"before_submit": ["human"]}}},
    )
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "ada"),
        ("config", "user.email", "ada@example.org"),
        ("add", "--all"),
        ("commit", "-q", "-m", "begin"),
    ):
        subprocess.run(("git", *words), cwd=rig.cli.root, check=True)
    task = rig.run("task", "add", "Write the page", "--type", "page", "--json").json["id"]
    assert rig.cli.process("work", "--once").code == 4
    (asked,) = rig.messages()
    assert (asked["kind"], asked["id"]) == ("gate", task)
    waits = f"{task} (Write the page) waits for you: the gate human at before_submit waits: "
    assert asked["message"].startswith(waits)
    assert asked["command"] == f"hookline gate approve {task} (or: reject)"
    rig.run("gate", "approve", task)
    assert [each["id"] for each in rig.messages("/over")] == [task]


def test_nothing_is_announced_where_nobody_would_be_told(cli: Cli) -> None:
    task = cli.add("Ship it")
    cli.json("task", "block", task, "--reason", "x")
    assert cli.events("attention_needed") == []
    cli.configure(f"hooks: {json.dumps({'attention_needed': [NOTED]})}\n")
    cli.add("another")
    assert cli.events("attention_needed") == []  # nothing happened that matters
    cli.json("task", "block", cli.add("third"), "--reason", "x")
    assert told(cli, "id") == [("T-1",), ("T-3",)]


# Sessions


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    ("line", "outcome", "waits", "code"),
    [
        (PROMISE, "completed", False, 0),
        ("echo '<promise>BLOCKED</promise> which API?'", "escalated", True, 4),
        ("echo working", "limit", True, 5),
        ("exit 7", "limit", True, 5),
    ],
)
def test_the_end_of_a_session_is_told_with_its_outcome(
    rig: Rig, line: str, outcome: str, waits: bool, code: int
) -> None:
    rig.configure(rig.webhook(), session={"iterations": 2}, **agent(line))
    assert rig.cli.process("run", "Work", "--name", "night").code == code
    ended = [each for each in rig.messages() if each["kind"] == "session"]
    (event,) = rig.cli.events("session_ended")
    assert [(each["id"], each["outcome"]) for each in ended] == [("night", outcome)]
    assert ended[0]["reason"] == event["data"]["reason"]
    assert ended[0]["message"].startswith("The session night ")
    assert ended[0]["message"].endswith((".", "?"))
    needed = [each["data"] for each in rig.cli.events("attention_needed")]
    assert [each["waits"] for each in needed if each["kind"] == "session"] == [waits]
    shown = {item["id"]: item["command"] for item in rig.cli("attention", "--json").json}
    assert shown == ({"night": ended[0]["command"]} if waits else {})


def test_a_limit_that_is_near_is_told_once_and_again_after_it_was_raised(rig: Rig) -> None:
    rig.configure(rig.webhook(), session={"iterations": 5}, **agent("echo working $RANDOM$$"))
    rig.cli.process("run", "Work", "--name", "night")
    first = [each for each in rig.messages() if each["kind"] == "limit"]
    assert [each["message"] for each in first] == ["The session night has used 4 of 5 iterations."]
    assert (first[0]["id"], first[0]["reason"]) == ("night", "iterations")
    rig.cli.process("run", "--resume", "--name", "night", "--iterations", "10")
    near = [each["message"] for each in rig.messages() if each["kind"] == "limit"]
    assert near[1:] == ["The session night has used 8 of 10 iterations."]
    assert [each for each in told(rig.cli, "kind", "waits") if each[0] == "limit"] == [
        ("limit", False)
    ] * 2


def test_money_and_tokens_have_limits_that_can_be_near(rig: Rig) -> None:
    turn = {"text": "working", "usage": {"usd": 0.3, "inputTokens": 100, "outputTokens": 100}}
    rig.cli.put("turns.json", json.dumps([turn] * 4))
    rig.configure(
        rig.webhook(),
        session={"budget": {"usd": 1.1, "tokens": 750}},
        agents={"bot": {"driver": "scripted", "script": "turns.json"}},
    )
    rig.cli.process("run", "Work", "--name", "night")
    near = {each["reason"]: each["message"] for each in rig.messages() if each["kind"] == "limit"}
    assert near == {
        "usd": "The session night has used $0.90 of $1.10.",
        "tokens": "The session night has used 600 of 750 tokens.",
    }


def test_a_session_whose_process_is_killed_begins_to_wait(rig: Rig) -> None:
    rig.configure(rig.webhook(), over=[rig.webhook("/over")], **agent(WAIT))
    run = rig.cli.start("run", "Work", "--name", "night")
    eventually((rig.cli.root / "working").exists, "the turn")
    kill(run)
    assert rig.messages() == []
    rig.run("task", "add", "anything")
    (waits,) = rig.messages()
    assert (waits["kind"], waits["id"], waits["outcome"]) == ("session", "night", "killed")
    assert waits["message"] == "The session night (Work) waits for you: its process is gone."
    assert waits["command"] == "hookline run --resume --name night"
    rig.run("task", "add", "something")
    assert len(rig.messages()) == 1
    rig.cli.put("go", "")
    rig.cli.process("run", "--resume", "--name", "night", "--iterations", "1")
    assert [each["id"] for each in rig.messages("/over")] == ["night"]


def test_a_process_that_works_notices_that_another_was_killed(rig: Rig) -> None:
    rig.configure(rig.webhook(), **agent(WAIT))
    killed = rig.cli.start("run", "One", "--name", "first")
    eventually((rig.cli.root / "working").exists, "the turn")
    (rig.cli.root / "working").unlink()
    works = rig.cli.start("run", "Two", "--name", "second")
    eventually((rig.cli.root / "working").exists, "the other turn")
    kill(killed)
    eventually(lambda: bool(rig.messages()), "the message")
    assert [each["id"] for each in rig.messages()] == ["first"]
    assert works.poll() is None


def test_what_an_agent_does_is_told_by_whoever_runs_it(rig: Rig) -> None:
    add = f"{HOOKLINE} task add sub --json | grep -o 'T-[0-9]*' | head -1"
    block = f"{HOOKLINE} task block $({add})"
    rig.configure(
        {"name": "told", "notify": "webhook", "url_env": "HOOK_URL"},
        {"name": "line", "command": "echo $PPID >> callers"},
        **agent(f"env > environment; {block} --reason x > said 2>&1; {WAIT}"),
    )
    run = rig.cli.start("run", "Work", "--name", "night", env=rig.env)
    eventually((rig.cli.root / "working").exists, "the turn")
    assert "blocked" in (rig.cli.root / "said").read_text()
    eventually(lambda: bool(rig.inbox.received), "the message")
    assert rig.inbox.received[0].said["messages"][0]["id"] == "T-2"
    assert f"{run.pid}" in (rig.cli.root / "callers").read_text().split()
    inherited = (rig.cli.root / "environment").read_text()
    assert "HOOK_URL" not in inherited
    assert "secret-part-of-it" not in inherited


def test_what_is_done_through_tools_is_told_as_well(rig: Rig) -> None:
    rig.configure(rig.webhook())
    task = rig.cli.add("Ship it", quiet=False)
    with Agent.in_process(rig.cli) as agent:
        agent("task_block", taskId=task, reason="which one?")
    assert [each["id"] for each in rig.messages()] == [task]


# Once, whoever looks, and never because of itself


def test_many_processes_announce_one_thing_once(rig: Rig) -> None:
    rig.configure(rig.webhook())
    task = rig.run("task", "add", "Ship it", "--json").json["id"]
    inside = {"HOOKLINE_HOOK": "h", "HOOKLINE_DIR": str(rig.cli.root / ".hookline")}
    held = rig.cli("task", "block", task, "--reason", "x", env=inside)
    assert held.code == 0, held.stderr
    assert rig.cli.events("attention_needed") == []  # what runs under a hook only records
    notes = [rig.cli.start("note", "add", f"note {number}") for number in range(6)]
    for each in notes:
        each.communicate()
    assert [each["id"] for each in rig.messages()] == [task]
    assert told(rig.cli, "id") == [(task,)]


@pytest.mark.examples(2)
@pytest.mark.parametrize("kind", ["command", "http", "python", "action", "notify"])
def test_a_hook_that_cannot_tell_people_is_not_announced(rig: Rig, kind: str) -> None:
    rig.cli.put("mine.py", "def act(event, context):\n    return [{'type': 'nonsense'}]\n")
    failing: Mapping[str, dict[str, Any]] = {
        "command": {"command": "exit 3"},
        "http": {"http": "http://127.0.0.1:9/nobody"},
        "python": {"python": "mine:missing"},
        "action": {"python": "mine:act"},
        "notify": {"notify": "webhook", "url": "http://127.0.0.1:9/nobody"},
    }
    rig.configure({"name": "broken", **failing[kind]}, rig.webhook(), over=[])
    task = rig.block()
    rig.run("note", "add", "and another look")
    assert told(rig.cli, "id") == [(task,)]
    assert [each["id"] for each in rig.messages()] == [task]
    shown = [item["id"] for item in rig.cli("attention", "--json").json]
    assert shown == ([task] if kind == "notify" else [task, "broken"])
    if kind == "notify":  # it is tried again
        assert rig.cli.calls("broken") == ["queued"]


@pytest.mark.torture
def test_hooks_that_make_each_other_wait_come_to_an_end(rig: Rig) -> None:
    block = (
        f"id=$({HOOKLINE} task add more --json | grep -o 'T-[0-9]*' | head -1);"
        f" {HOOKLINE} task block $id --reason x"
    )
    rig.configure({"name": "more", "command": block})
    rig.run("task", "block", rig.cli.add("first"), "--reason", "x")
    for _ in range(12):
        rig.run("note", "add", "look")
    assert len(rig.cli.events("cascade_limit")) == 1
    assert len(rig.cli.events("attention_needed")) <= 10


def test_nobody_else_can_announce(rig: Rig) -> None:
    rig.configure(rig.webhook(name="told"))
    for kind in ("attention_needed", "attention_over"):
        code, error = rig.cli.refused("emit", kind, "--data", "{}")
        assert (code, error["code"]) == (2, "reserved-event")
    inside = {"HOOKLINE_AGENT": "bot"}
    for words in (("hook", "test", "told"), ("hook", "disable", "told")):
        code, error = rig.cli.refused(*words, env=inside)
        assert error["code"] == "people-only"
    assert rig.cli("hook", "dispatch", "attention_needed", env=inside, stdin="{}").code != 0
    rig.cli.configure("events: [attention_needed]\n", trust=False)
    assert [each["code"] for each in rig.cli("check", "--json").json["problems"]] == ["bad-event"]
    assert rig.inbox.received == []


def test_a_changed_configuration_silences_no_process_that_runs(rig: Rig) -> None:
    """An agent can edit the file; what was trusted when the process began is what it tells by."""
    rig.configure(rig.webhook(), **agent(f"echo '# mine' >> hookline.yaml; {PROMISE}"))
    rig.cli.process("run", "Work", "--name", "night")
    assert [each["id"] for each in rig.messages()] == ["night"]


def test_what_is_held_back_is_told_once_it_is_trusted_again(rig: Rig) -> None:
    rig.configure(rig.webhook(name="told"))
    with (rig.cli.root / "hookline.yaml").open("a") as file:
        file.write("# changed\n")
    task = rig.cli("task", "add", "Ship it", "--json").json["id"]
    assert rig.cli("task", "block", task, "--reason", "x").code == 0
    assert rig.messages() == []
    assert "not trusted" in rig.cli("why", "told").stdout
    rig.run("trust", "--yes")
    rig.run("note", "add", "look")
    assert task in [each["id"] for each in rig.messages()]


def test_a_repository_that_is_not_trusted_has_no_say_in_when_you_are_told(rig: Rig) -> None:
    rig.cli.home.mkdir(exist_ok=True)
    mine = {"version": 1, "hooks": {"attention_needed": [rig.webhook(name="mine")]}}
    (rig.cli.home / "hookline.yaml").write_text(json.dumps(mine))
    rig.cli.configure('notifications: {quiet: "00:00-23:59"}\n', trust=False)
    task = rig.run("task", "add", "Ship it", "--json").json["id"]
    rig.run("task", "block", task, "--reason", "x")
    assert [each["id"] for each in rig.messages()] == [task]


# What it costs, and how it is explained

LOADED = """\
import sys
from hookline.surfaces.cli.main import run
code = run(sys.argv[1:])
print(code, *sorted(sys.modules), file=sys.stderr)
"""


def test_a_command_that_makes_nothing_wait_looks_at_nothing(rig: Rig) -> None:
    rig.configure(rig.webhook(), {"notify": "desktop"})
    words = ("task", "add", "Ship it")
    done = subprocess.run(
        (PROGRAM[0], "-c", LOADED, *words),
        cwd=rig.cli.root,
        env=rig.cli.env,
        capture_output=True,
        text=True,
    )
    code, *modules = done.stderr.split()
    assert code == "0"
    assert not {"hookline.queries.waiting.attention", "asyncio", "zoneinfo", "smtplib"} & set(
        modules
    )


def test_why_and_the_log_say_what_became_of_a_notification(rig: Rig) -> None:
    rig.configure(rig.webhook(name="told", when="event.data.kind == 'task'"))
    task = rig.block()
    (event,) = rig.cli.events("attention_needed")
    (got,) = rig.inbox.received
    why = rig.cli("why", "told").stdout
    assert f"told ran at event {event['seq']} (attention_needed, {task})" in why
    assert "event.data.kind == 'task'" in why
    assert f"sent as {got.key}; the server answered 200" in why
    assert "told" in rig.cli("why", str(event["seq"])).stdout
    log = rig.cli("hook", "log").stdout
    assert f"event={event['seq']} point=attention_needed hook=told status=ok" in log
    (listed,) = [each for each in rig.cli.json("hook", "list") if each["name"] == "told"]
    assert (listed["points"], listed["rule"]) == (["attention_needed"], "react")
    assert rig.cli("hook", "replay", "told", "--event", str(event["seq"])).code == 0
    assert rig.cli("hook", "dispatch", "attention_needed", stdin="{}").code == 0
    assert len(rig.inbox.received) == 2  # a payload without a kind does not meet the condition


def test_a_notification_can_be_tried_before_anything_waits(rig: Rig) -> None:
    rig.configure(rig.webhook(name="told"))
    for _ in range(2):
        done = rig.cli("hook", "test", "told")
        assert done.code == 0
    first, second = rig.inbox.received
    assert first.key != second.key
    assert first.said["title"] == "project: test, notify told"
    assert "This is a test of the notification told; nothing waits for you." in first.said["text"]
    assert rig.cli.events() == []


@pytest.mark.torture
def test_doctor_proves_what_was_announced_against_the_log(rig: Rig) -> None:
    rig.configure(rig.webhook())
    rig.block()
    tables = [c for c in rig.cli("doctor", "--json").json["checks"] if c["name"] == "tables"]
    assert [each["status"] for each in tables] == ["ok"]
    with closing(sqlite3.connect(rig.cli.database)) as store:
        store.execute("UPDATE announcements SET seq = seq - 1")
        store.commit()
    tables = [c for c in rig.cli("doctor", "--json").json["checks"] if c["name"] == "tables"]
    assert [each["status"] for each in tables] == ["failed"]
    assert "announcement" in tables[0]["message"]

"""The other tools through a real MCP client, and how the server behaves as a program."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import PROGRAM, Cli, eventually
from tests.e2e.mcp_rig import Agent

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = {
    *("hook_register", "hook_evaluate", "hook_list", "hook_clear"),
    *("iteration_start", "iteration_validate", "iteration_next", "iteration_complete"),
    *("task_get", "task_create", "task_list", "task_next", "task_update", "task_complete"),
    *("task_block", "dep_add", "note_add", "note_list", "session_complete", "events_tail"),
    *("checkpoint_create", "checkpoint_list", "checkpoint_get", "checkpoint_resume"),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    runner = Cli(tmp_path_factory.mktemp("mcp"))
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def agent(shared: Cli) -> Iterator[Agent]:
    with Agent.in_process(shared) as running:
        yield running


def handshake(*more: dict[str, Any]) -> str:
    """What a client sends first, and then these requests."""
    about = {"name": "tester", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": params},
        {"method": "notifications/initialized"},
        *more,
    ]
    return "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages)


class Raw:
    """A client that sends whatever it likes, and keeps every byte of stdout."""

    def __init__(self, cli: Cli) -> None:
        self.process = subprocess.Popen(
            (*PROGRAM, "mcp"),
            cwd=cli.root,
            env=cli.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        cli.started.append(self.process)

    def send(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def answers(self, *ids: int) -> dict[int, str]:
        """The lines that answer these requests; every line is a message of the protocol."""
        assert self.process.stdout is not None
        found: dict[int, str] = {}
        while not found.keys() >= set(ids):
            line = self.process.stdout.readline()
            found[json.loads(line)["id"]] = line
        return found

    def end(self) -> tuple[int, str, str]:
        """Close stdin; (exit code, what was left on stdout, stderr)."""
        rest, errors = self.process.communicate(timeout=100)
        return self.process.returncode, rest, errors


def test_the_list_as_it_is_sent_is_short(cli: Cli) -> None:
    raw = Raw(cli)
    raw.send(handshake({"id": 1, "method": "tools/list", "params": {}}))
    sent = raw.answers(0, 1)[1]
    assert raw.end() == (0, "", "")
    assert len(sent.encode()) < 16 * 1024
    listed = json.loads(sent)["result"]["tools"]
    assert {tool["name"] for tool in listed} == TOOLS
    for tool in listed:
        assert tool["inputSchema"]["type"] == "object"
        assert tool["description"]


def test_the_core_is_what_a_loop_needs(cli: Cli) -> None:
    with Agent.on_stdio(cli, "--tools", "core") as agent:
        names = {tool.name for tool in agent.tools().tools}
        assert {"iteration_start", "iteration_validate", "task_get", "session_complete"} <= names
        assert names < TOOLS
        error = agent.refused("events_tail")["error"]
        assert "task_get" in error["help"]


def test_people_have_verbs_that_agents_have_not(agent: Agent) -> None:
    names = {tool.name for tool in agent.tools().tools}
    assert not [name for name in names if "trust" in name or "approve" in name or "answer" in name]


def test_tasks(agent: Agent) -> None:
    one = agent("task_create", goal="first", labels=["a"], priority=0, notes=["n"])
    assert (one["state"], one["labels"], one["priority"]) == ("ready", ["a"], 0)
    two = agent("task_create", goal="second", parentTaskId=one["taskId"])
    agent("dep_add", taskId=two["taskId"], dependsOn=one["taskId"])
    seen = agent("task_get", taskId=one["taskId"])
    assert (seen["dependents"], seen["subtasks"]) == ([two["taskId"]], [two["taskId"]])
    assert agent("task_next")["taskId"] == one["taskId"]
    taken = agent("task_next", claim=True)
    assert (taken["taskId"], bool(taken["claim"]["token"])) == (one["taskId"], True)
    listed = agent("task_list", parentTaskId=one["taskId"])["tasks"]
    assert [each["taskId"] for each in listed] == [two["taskId"]]
    begun = agent("task_update", taskId=one["taskId"], state="active", note="on it")
    assert (begun["state"], begun["notes"]) == ("active", ["n", "on it"])
    done = agent("task_complete", taskId=one["taskId"], result="ok", artifacts=["a.txt"])
    assert (done["state"], done["artifacts"]) == ("completed", ["a.txt"])
    assert agent("task_get", taskId=two["taskId"])["state"] == "ready"
    assert agent("task_update", taskId=two["taskId"], state="cancelled")["state"] == "cancelled"
    listed = agent("task_list", state="completed")["tasks"]
    assert one["taskId"] in {each["taskId"] for each in listed}


def test_unknown_things_say_what_to_call(agent: Agent) -> None:
    for tool in ("task_get", "hook_register", "hook_list", "hook_clear", "iteration_start"):
        error = agent.refused(tool, taskId="T-4711")["error"]
        assert (error["code"], "task_list" in error["help"]) == ("unknown-task", True)
    for tool in ("iteration_validate", "iteration_next", "iteration_complete", "hook_evaluate"):
        for name in ("IT-1", "IT-99999", "nonsense", "IT-" + "9" * 400):
            error = agent.refused(tool, iterationId=name)["error"]
            assert (error["code"], "iteration_start" in error["help"]) == (
                "unknown-iteration",
                True,
            )
    error = agent.refused("checkpoint_get", checkpointId="CP-1")["error"]
    assert (error["code"], "checkpoint_list" in error["help"]) == ("unknown-checkpoint", True)
    error = agent.refused("make_coffee")["error"]
    assert (error["code"], "task_get" in error["help"]) == ("unknown-tool", True)


@pytest.mark.parametrize(
    ("tool", "wrong", "told"),
    [
        ("task_get", {}, "taskId"),
        ("task_get", {"taskId": 7}, "taskId"),
        ("task_get", {"taskId": "T-1", "extra": 1}, "extra"),
        ("task_create", {"goal": ""}, "goal"),
        ("task_create", {"goal": "x" * 70_000}, "goal"),
        ("task_create", {"goal": "x", "labels": "a"}, "labels"),
        ("task_update", {"taskId": "T-1"}, "nothing"),
        ("task_list", {"state": "odd"}, "state can be active, all, blocked, "),
        ("task_update", {"taskId": "T-1", "state": "odd"}, "state can be active, "),
        ("task_list", {"limit": 0}, "limit"),
        ("note_add", {"kind": "poem", "text": "x"}, "kind can be "),
        ("note_add", {"kind": "tip", "text": "x" * 9000}, "8,192"),
        ("events_tail", {"after": "x"}, "after"),
    ],
)
def test_arguments_that_are_wrong(
    agent: Agent, tool: str, wrong: dict[str, Any], told: str
) -> None:
    error = agent.refused(tool, **wrong)["error"]
    assert error["code"] == "bad-input"
    assert told in f"{error['message']} {error['help']}"


def test_an_output_that_is_too_long(agent: Agent) -> None:
    _, loop = agent.loop("promise")
    error = agent.refused("iteration_validate", iterationId=loop, agentOutput="x" * 300_000)[
        "error"
    ]
    assert "agentOutput" in error["message"]


def test_notes(agent: Agent, shared: Cli) -> None:
    task = agent("task_create", goal="noted")["taskId"]
    other = agent("task_create", goal="other")["taskId"]
    made = agent("note_add", kind="learning", text="the port is 8080", taskId=task)
    agent("note_add", kind="tip", text="use make")
    agent("note_add", kind="stuck", text="elsewhere", taskId=other)
    listed = agent("note_list", taskId=task)["notes"]
    assert [each["text"] for each in listed] == ["the port is 8080", "use make"]
    assert made["createdBy"] == "mcp"
    (tip,) = agent("note_list", kind="tip")["notes"]
    assert tip["taskId"] is None
    by_hand = shared.json("note", "add", "look at CI", "--kind", "decision", "--task", task)
    assert agent("note_list", taskId=task, limit=1)["notes"] == [by_hand]
    assert [each["id"] for each in shared.json("note", "list", "--task", task)] == [
        *(each["id"] for each in listed),
        by_hand["id"],
    ]


def test_checkpoints(agent: Agent, shared: Cli) -> None:
    task = agent("task_create", goal="long")["taskId"]
    agent("hook_register", taskId=task)
    made = agent(
        "checkpoint_create",
        taskId=task,
        executionPhase="testing",
        executionStep=3,
        agentContext={"left": ["b.py"]},
        draftContent="def f(): ...",
        draftType="implementation",
    )
    (listed,) = agent("checkpoint_list", taskId=task)["checkpoints"]
    assert listed["checkpointId"] == made["checkpointId"]
    assert "draftContent" not in listed
    back = agent("checkpoint_resume", checkpointId=made["checkpointId"])
    assert back["agentContext"] == {"left": ["b.py"]}
    assert back["draftContent"] == "def f(): ..."
    assert "phase testing step 3" in back["instructions"]
    assert "(1)" in back["instructions"]
    assert [e["nodeId"] for e in shared.events("checkpoint_resumed")] == [task]
    shown = shared.json("checkpoint", "get", made["checkpointId"])
    assert (shown["executionPhase"], shown["expired"]) == ("testing", False)


def test_a_checkpoint_that_expired_is_refused_with_its_age(agent: Agent, shared: Cli) -> None:
    task = agent("task_create", goal="late")["taskId"]
    made = agent("checkpoint_create", taskId=task, expiresInMinutes=0.0001)["checkpointId"]
    eventually(lambda: bool(shared.json("checkpoint", "list", task)[0]["expired"]), "the expiry")
    error = agent.refused("checkpoint_resume", checkpointId=made)["error"]
    assert error["code"] == "checkpoint-expired"
    assert "0 minutes ago" in error["message"]
    assert agent("checkpoint_get", checkpointId=made)["expired"] is True
    code, told = shared.refused("checkpoint", "resume", made)
    assert (code, told["code"]) == (1, "checkpoint-expired")


def test_the_log(agent: Agent) -> None:
    task = agent("task_create", goal="logged")["taskId"]
    events = agent("events_tail", limit=2)["events"]
    assert [e["type"] for e in events] == ["task_created", "task_ready"]
    assert events[0]["metadata"]["triggeredBy"] == "mcp"
    (only,) = agent("events_tail", taskId=task, type="task_ready")["events"]
    assert only == events[1]
    assert agent("events_tail", after=events[0]["seq"])["events"] == [events[1]]


@pytest.mark.parametrize("kind", ["iteration_validated", "hook_registered", "note_added"])
def test_nobody_forges_the_events_of_loops(shared: Cli, kind: str) -> None:
    assert shared.refused("emit", kind)[1]["code"] == "reserved-event"


# In a session.


def session(cli: Cli, task: str) -> dict[str, str]:
    """The environment that a session gives to its agent's server."""
    return {
        "HOOKLINE_DIR": str(cli.root / ".hookline"),
        "HOOKLINE_SESSION": "night",
        "HOOKLINE_RUN_ID": "R-1",
        "HOOKLINE_TASK_ID": task,
        "HOOKLINE_AGENT": "implementer",
    }


def test_a_session_is_done_when_its_tasks_are(cli: Cli) -> None:
    own, stranger = cli.add("the session's task"), cli.add("not of this session")
    with Agent.in_process(cli, env=session(cli, own)) as agent:
        part = agent("task_create", goal="a part")["taskId"]
        deep = agent("task_create", goal="a part of it", parentTaskId=part)["taskId"]
        error = agent.refused("session_complete", summary="done")["error"]
        assert error["code"] == "tasks-open"
        assert part in error["message"]
        assert deep in error["message"]
        assert stranger not in error["message"]
        agent("task_complete", taskId=deep)
        agent("task_complete", taskId=part)
        assert agent("session_complete", summary="done")["promised"] == "COMPLETE"
    (promise,) = cli.events("session_promise")
    assert (promise["nodeId"], promise["data"]) == (
        "R-1",
        {"type": "COMPLETE", "summary": "done"},
    )
    assert promise["metadata"]["triggeredBy"] == "implementer"


def test_the_sessions_own_task_is_promised_not_completed(cli: Cli) -> None:
    own = cli.add("the session's task")
    with Agent.in_process(cli, env=session(cli, own)) as agent:
        answer = agent("task_complete", taskId=own, result="all")
        assert "session decides" in answer["message"]
        assert agent("task_get", taskId=own)["state"] == "ready"
        error = agent.refused("task_update", taskId=own, state="cancelled")["error"]
        assert "task_block" in error["help"]
    # The command line says the same.
    assert cli.refused("task", "cancel", own, env=session(cli, own))[1] == error
    assert [e["data"]["summary"] for e in cli.events("session_promise")] == ["all"]
    assert cli.events("task_completed") == []


def test_outside_a_session_there_is_nothing_to_promise(cli: Cli) -> None:
    own = cli.add("one")
    elsewhere = {**session(cli, own), "HOOKLINE_DIR": ""}
    with Agent.in_process(cli, env=elsewhere) as agent:
        assert agent.refused("session_complete")["error"]["code"] == "no-session"


HOOK = "hooks: {task_completed: [{name: tell, command: 'echo told >> told.txt'}]}\n"


def test_hooks_of_a_change_are_called(cli: Cli) -> None:
    cli.configure(HOOK)
    with Agent.in_process(cli) as agent:
        task = agent("task_create", goal="one")["taskId"]
        agent("task_complete", taskId=task)
        assert (cli.root / "told.txt").read_text() == "told\n"


def test_in_a_session_they_wait_for_its_owner(cli: Cli) -> None:
    cli.configure(HOOK)
    own, other = cli.add("own"), cli.add("other")
    with Agent.in_process(cli, env=session(cli, own)) as agent:
        agent("task_complete", taskId=other)
    assert not (cli.root / "told.txt").exists()
    assert cli.calls("tell") == ["pending"]


def test_many_calls_at_once(cli: Cli) -> None:
    cli.configure(HOOK)
    with Agent.on_stdio(cli) as agent:
        made = agent.together([("task_create", {"goal": f"task {n}"}) for n in range(20)])
        names = [each["taskId"] for each in made]
        assert len(set(names)) == 20
        agent.together([("task_complete", {"taskId": name}) for name in names])
        loops = agent.together([("task_create", {"goal": "loop"}) for _ in range(4)])
        started = agent.together(
            [("iteration_start", {"taskId": each["taskId"]}) for each in loops]
        )
        slow = {"hookType": "command", "command": "sleep 0.2"}
        agent.together([("hook_register", {"taskId": e["taskId"], **slow}) for e in loops])
        answers = agent.together(
            [("iteration_validate", {"iterationId": each["iterationId"]}) for each in started]
        )
        assert [each["completionSignal"] for each in answers] == ["COMPLETE"] * 4
    assert (cli.root / "told.txt").read_text() == "told\n" * 20
    assert cli.calls("tell", "status, attempts") == [("ok", 1)] * 20


# As a program.


def test_without_a_project_each_call_says_so(cli: Cli, tmp_path: Any) -> None:
    cli.root = tmp_path / "bare"
    cli.root.mkdir()
    with Agent.in_process(cli) as agent:
        error = agent.refused("task_list")["error"]
        assert (error["code"], "hookline init" in error["help"]) == ("no-project", True)


def test_garbage_does_not_end_the_server(cli: Cli) -> None:
    garbage = 'not json\n{"jsonrpc": "2.0"}\n[1, 2\n\n{"a": "' + "x" * 5_000_000 + '"}\n'
    wrong = {"id": 1, "method": "tools/call", "params": {"name": 7, "arguments": "no"}}
    listing = {"id": 2, "method": "tools/call", "params": {"name": "task_list", "arguments": {}}}
    first, *rest = handshake(wrong, listing).splitlines(keepends=True)
    raw = Raw(cli)
    raw.send(first + garbage + "".join(rest))
    answers = raw.answers(0, 1, 2)
    code, _, errors = raw.end()
    assert (code, "was ignored" in errors, "Traceback" in errors) == (0, True, False)
    assert "error" in json.loads(answers[1])
    found = json.loads(answers[2])["result"]["structuredContent"]
    assert found == {"taskCount": 0, "tasks": []}


@pytest.mark.examples(1)
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_its_hooks(cli: Cli, ending: signal.Signals) -> None:
    task = cli.add("one")
    with Agent.in_process(cli) as agent:
        line = "echo $$ > pid; exec sleep 600"
        agent("hook_register", taskId=task, hookType="command", command=line)
        loop = agent("iteration_start", taskId=task)["iterationId"]
    call = {"name": "iteration_validate", "arguments": {"iterationId": loop}}
    raw = Raw(cli)
    raw.send(handshake({"id": 1, "method": "tools/call", "params": call}))
    pid = cli.root / "pid"
    eventually(lambda: pid.exists() and pid.read_text().strip() != "", "the hook's start")
    raw.process.send_signal(ending)
    assert raw.process.wait(100) == 130
    eventually(lambda: not _runs(pid.read_text()), "the end of the hook")


def _runs(pid: str) -> bool:
    try:
        with open(f"/proc/{pid.strip()}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False

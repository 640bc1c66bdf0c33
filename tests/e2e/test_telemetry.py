"""The record as OpenTelemetry: what a session's spans say, and that each arrives once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from tests.e2e.conftest import eventually
from tests.e2e.session_rig import PROMISE, finished
from tests.e2e.telemetry_rig import check_all_sent, check_parents, collector, rig, words_of

if TYPE_CHECKING:
    from tests.collector import TakenSpan
    from tests.e2e.conftest import Cli
    from tests.e2e.telemetry_rig import TelemetryRig

__all__ = ["collector", "rig"]
SECRET = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"[:36]
HOOKS: dict[str, list[Any]] = {
    "pre_iteration": [{"name": "pre", "command": "echo from the hook", "pipe_output": True}],
    "post_iteration": [{"name": "never", "command": "true", "when": "iteration > 90"}],
    "stop": ["promise"],
    "session_end": [{"name": "bye", "command": "exit 3"}],
    "task_completed": [{"name": "done", "command": "true"}],
}
FINE = {"name": "fine", "type": "command", "command": "true"}


def begun(cli: Cli) -> int:
    """The place in the log at which the first session began."""
    (((seq,)),) = cli.rows("SELECT min(seq) FROM events WHERE type = 'run_started'")
    return int(seq) - 1


def one(found: list[TakenSpan]) -> TakenSpan:
    assert len(found) == 1, [each.name for each in found]
    return found[0]


def test_a_session_of_an_agent_with_tools(rig: TelemetryRig) -> None:
    rig.sends(HOOKS, agents={"claude": rig.claude}, validation=[FINE])
    assert rig.run("--agent", "claude", goal="find the plans").code == 0
    taken = rig.collector
    check_all_sent(rig.cli, taken, begun(rig.cli))
    assert not taken.repeated
    first, second = taken.named("iteration")
    assert (first.name, second.name) == ("iteration 1", "iteration 2")
    assert first.trace != second.trace
    (store,) = {each.resource["hookline.store"] for each in taken.spans}
    assert first.attributes["session.id"] == f"{store.replace('-', '')[:8]}-R-1"
    assert {each.attributes["session.id"] for each in taken.spans} == {
        first.attributes["gen_ai.conversation.id"]
    }
    turns = taken.named("invoke_agent claude")
    assert [each.parent for each in turns] == [first.id, second.id]
    assert (
        turns[0].attributes.items()
        >= {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "claude",
            "gen_ai.provider.name": "anthropic",
            "gen_ai.request.model": "claude-opus-4",
            "gen_ai.usage.input_tokens": 30,
            "gen_ai.usage.output_tokens": 12,
            "openinference.span.kind": "AGENT",
            "langfuse.observation.type": "agent",
            "llm.token_count.total": 42,
            "hookline.usd": 0.0125,
            "hookline.turn.role": "implementer",
        }.items()
    )
    assert len({each.attributes["hookline.conversation"] for each in turns}) == 2
    bash, read = (taken.named(f"execute_tool {name}") for name in ("Bash", "Read"))
    assert [each.parent for each in bash] == [each.id for each in turns]
    assert [each.parent for each in read] == [each.id for each in turns]
    assert [each.is_error for each in (*bash, *read)] == [False, False, True, True]
    assert (
        bash[0].attributes.items()
        >= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "Bash",
            "gen_ai.tool.call.id": "toolu_1",
            "gen_ai.conversation.id": first.attributes["session.id"],
            "hookline.conversation": turns[0].attributes["hookline.conversation"],
            "openinference.span.kind": "TOOL",
        }.items()
    )
    assert one(taken.named("hook bye")).attributes["hookline.hook.exit_code"] == 3
    assert one(taken.named("hook done")).parent == second.id
    assert not taken.named("hook never")
    checked = taken.named("validate")
    assert [each.attributes["openinference.span.kind"] for each in checked] == ["EVALUATOR"] * 2


def test_what_was_said_stays_here_unless_someone_wants_it_elsewhere(rig: TelemetryRig) -> None:
    """Without secrets even then; the names of hooks that are only a command line stay here, too."""
    rig.turns(f"echo 'my key is {SECRET} and I like opal'; exit 1", PROMISE)
    hooks = {**HOOKS, "on_error": [{"command": f"echo amber {SECRET}; exit 1"}]}
    rig.sends(hooks)
    rig.run(goal="find the jade")
    sent = words_of(rig.collector)
    assert rig.collector.named("invoke_agent")
    assert rig.collector.named("hook pre")
    for word in ("opal", "jade", "amber", "from the hook", "exited 1", SECRET, "How to work"):
        assert word not in sent
    rig.sends(hooks, telemetry={"content": True})
    rig.run(goal="find the jade", name="again")
    sent = words_of(rig.collector)
    for word in ("opal", "jade", "amber", "from the hook", "How to work"):
        assert word in sent
    assert SECRET not in sent


def test_a_hook_that_an_agent_answers(rig: TelemetryRig) -> None:
    answer = json.dumps({"action": "complete"})
    asked = rig.scripted({"text": answer, "usage": {"inputTokens": 5, "outputTokens": 6}})
    rig.sends(
        {"stop": [{"name": "judge", "agent": "asked", "prompt": "done?"}]}, agents={"asked": asked}
    )
    assert rig.run().code == 0
    check_all_sent(rig.cli, rig.collector, begun(rig.cli))
    judge = one(rig.collector.named("hook judge"))
    turn = one(rig.collector.named("invoke_agent asked"))
    assert turn.parent == judge.id
    assert turn.attributes["hookline.turn.role"] == "hook"
    assert judge.attributes["hookline.stop.action"] == "complete"
    assert judge.parent == one(rig.collector.named("iteration 1")).id


def test_what_a_hook_causes_is_below_it(rig: TelemetryRig) -> None:
    """Also where no session is: there, what a person did begins the trace."""
    adds = {"actions": [{"type": "create_task", "payload": {"goal": "more"}}]}
    rig.cli.put("adds.json", json.dumps(adds))
    rig.turns(PROMISE)
    created = {"name": "note", "command": "true", "when": "task.goal == 'more'"}
    rig.sends(
        {
            "task_completed": [{"name": "adds", "command": "cat adds.json"}],
            "task_created": [created],
        }
    )
    assert rig.run().code == 0
    adding, note = one(rig.collector.named("hook adds")), one(rig.collector.named("hook note"))
    assert note.parent == adding.id
    check_parents(rig.collector)
    task = rig.cli.add("apart")
    rig.cli.json("task", "complete", task, "--result", "ok", quiet=False)
    rig.cli.json("telemetry", "send")
    apart = [each for each in rig.collector.named("hook adds") if each.trace != adding.trace]
    assert one(apart).parent == ""
    assert "session.id" not in one(apart).attributes
    below = [each for each in rig.collector.named("hook note") if each.trace == one(apart).trace]
    assert one(below).parent == one(apart).id
    check_all_sent(rig.cli, rig.collector, begun(rig.cli))


def test_a_session_that_is_resumed_after_each_ending(rig: TelemetryRig) -> None:
    """A rest ends an iteration's span; what comes after it has one of its own."""
    rig.sends(HOOKS)
    rig.turns("echo '<promise>BLOCKED</promise> which one?'", "echo more", PROMISE)
    assert rig.run(iterations=9).data["outcome"] == "escalated"
    assert [each.name for each in rig.collector.named("iteration")] == ["iteration 1"]
    assert rig.resume().code == 0
    check_all_sent(rig.cli, rig.collector, begun(rig.cli))
    names = [each.name for each in rig.collector.named("iteration")]
    assert sorted(names) == sorted(set(names))
    sessions = {each.attributes.get("session.id") for each in rig.collector.spans}
    assert len(sessions) == 1
    assert not rig.collector.repeated


def test_gates_of_a_submission(rig: TelemetryRig) -> None:
    """They belong to the session that did the work."""
    rig.repository()
    rig.turns(f"echo x > made; git add made; git commit -qm made; {PROMISE}")
    gates = [{"name": "look", "command": "test -f made"}]
    rig.sends({"before_submit": gates, "before_merge": []})
    task = rig.cli.add("make it")
    ((before,),) = rig.cli.rows("SELECT max(seq) FROM events")
    work = rig.cli("work", "--once", "--json")
    assert work.code == 0, work.stderr
    (state,) = rig.cli.rows("SELECT state FROM tasks")
    assert (task, state) == ("T-1", ("completed",))
    check_all_sent(rig.cli, rig.collector, before)
    gate = one(rig.collector.named("gate look"))
    assert (
        gate.attributes.items()
        >= {
            "hookline.gate.status": "success",
            "openinference.span.kind": "GUARDRAIL",
            "langfuse.observation.type": "guardrail",
            "hookline.flow": "submit",
            "session.id": one(rig.collector.named("iteration 1")).attributes["session.id"],
        }.items()
    )


# Kills, failures


def test_a_session_that_is_killed_in_a_turn(rig: TelemetryRig) -> None:
    began = rig.file("began")
    rig.sends(HOOKS, validation=[FINE])
    rig.turns("echo one", f"touch {began}; sleep 60", PROMISE)
    process = rig.start(iterations=5)
    eventually(began.exists, "the second turn")
    process.kill()
    process.communicate()
    assert rig.resume().code == 0
    check_all_sent(rig.cli, rig.collector, begun(rig.cli))
    cut = [each for each in rig.collector.named("invoke_agent") if each.is_error]
    assert one(cut).attributes["error.type"] == "interrupted"
    assert one(cut).attributes["hookline.turn.unfinished"] is True


def test_a_process_that_is_killed_when_its_spans_have_arrived(rig: TelemetryRig) -> None:
    """They come again from the next one: the same spans, to the byte."""
    rig.sends(HOOKS)
    rig.turns("echo one", PROMISE)
    rig.collector.kills_sender = True
    process = rig.start(iterations=5)
    assert process.wait() == -9
    process.communicate()
    arrived = len(rig.collector.spans)
    assert arrived
    rig.collector.kills_sender = False
    rig.cli("run", "--resume", "--name", "s", "--json")
    rig.cli.json("telemetry", "send")
    check_all_sent(rig.cli, rig.collector, begun(rig.cli))
    assert set(rig.collector.repeated.values()) == {2}
    assert len(rig.collector.repeated) == arrived


def test_a_collector_that_is_away_costs_nothing_and_is_told_once(rig: TelemetryRig) -> None:
    rig.sends(HOOKS)
    rig.turns(rest=PROMISE)
    rig.collector.status = 503
    done = rig.run(name="one")
    assert done.code == 0
    told = [line for line in done.stderr.splitlines() if "telemetry" in line]
    assert len(told) == 1
    assert "the server answered 503" in told[0]
    second = rig.run(name="two")
    assert (second.code, second.stderr) == (0, "")
    doctor = rig.cli.json("doctor", quiet=False)["checks"]
    (check,) = [each for each in doctor if each["name"] == "telemetry"]
    assert check["status"] == "warning"
    status = rig.cli.json("telemetry", "status")
    assert (status["isBehind"], status["failures"] > 0) == (True, True)
    refused = rig.cli("telemetry", "send", "--json")
    assert (refused.code, refused.json["error"]) == (1, "the server answered 503")
    rig.collector.status = 200
    assert rig.cli.json("telemetry", "send")["error"] is None
    check_all_sent(rig.cli, rig.collector, begun(rig.cli))
    assert not rig.collector.repeated
    status = rig.cli.json("telemetry", "status")
    assert (status["isBehind"], status["sent"]) == (False, len(rig.collector.spans))


def test_a_collector_that_is_away_for_weeks_is_tried_again(rig: TelemetryRig) -> None:
    rig.sends(HOOKS)
    rig.turns(rest=PROMISE)
    rig.collector.status = 503
    assert rig.run().code == 0
    rig.cli.rows("UPDATE exporters SET failures = 20000, next_try = 0")
    refused = rig.cli("telemetry", "send", "--json")
    assert (refused.code, refused.json["error"]) == (1, "the server answered 503")
    rig.collector.status = 200
    assert rig.cli.json("telemetry", "send")["error"] is None
    check_all_sent(rig.cli, rig.collector, begun(rig.cli))


@pytest.mark.parametrize("rejected", [-5, 2**63 - 1])
def test_a_collector_that_claims_what_cannot_be(rig: TelemetryRig, rejected: int) -> None:
    rig.sends(HOOKS)
    rig.turns(rest=PROMISE)
    said = ExportTracePartialSuccess(rejected_spans=rejected)
    answer = ExportTraceServiceResponse(partial_success=said)
    rig.collector.words = answer.SerializeToString()
    done = rig.run()
    assert (done.code, "telemetry" in done.stderr) == (0, False)
    status = rig.cli.json("telemetry", "status")
    assert status["sent"] + status["rejected"] == len(rig.collector.spans)
    assert min(status["sent"], status["rejected"]) == 0
    check_all_sent(rig.cli, rig.collector, begun(rig.cli))


@pytest.mark.parametrize(
    "moment", ["", "soon", "1901-01-01T00:00:00.000Z", "9999-01-01T00:00:00.000Z"]
)
def test_an_agent_that_forges_its_feed(rig: TelemetryRig, moment: str) -> None:
    rig.sends(HOOKS)
    forged = {"timestamp": moment, "type": "agent", "data": {"type": "tool", "name": "x"}}
    feed = "$HOOKLINE_DIR/sessions/$HOOKLINE_RUN_ID.jsonl"
    rig.turns(f"echo '{json.dumps(forged)}' >> {feed}", rest=PROMISE)
    done = rig.run(iterations=2)
    assert (done.code, "telemetry" in done.stderr) == (0, False)
    assert not rig.cli.json("telemetry", "status")["isBehind"]
    assert len(rig.collector.named("iteration")) == 2


def test_a_collector_that_never_answers_holds_no_command_up(rig: TelemetryRig) -> None:
    rig.sends(HOOKS)
    rig.turns("echo one", PROMISE)
    rig.collector.answers_now.clear()
    try:
        process = rig.start(iterations=5)
        ended = finished(process)
    finally:
        rig.collector.answers_now.set()
    assert ended.code == 0
    assert rig.collector.requests
    rig.cli.json("telemetry", "send")
    check_all_sent(rig.cli, rig.collector, begun(rig.cli))


def test_a_collector_that_takes_only_a_few_spans_at_once(rig: TelemetryRig) -> None:
    rig.sends(HOOKS)
    rig.turns(rest=PROMISE)
    rig.collector.most = 3
    assert rig.run().code == 0
    check_all_sent(rig.cli, rig.collector, begun(rig.cli))
    assert rig.cli.json("telemetry", "status")["rejected"] == 0


def test_the_whole_record_can_be_sent_again(rig: TelemetryRig) -> None:
    rig.configure(HOOKS)
    rig.turns(rest=PROMISE)
    assert rig.run().code == 0
    rig.sends(HOOKS)
    assert rig.cli.json("telemetry", "send")["spans"] == 0
    assert rig.cli.json("telemetry", "send", "--all")["spans"] > 0
    check_all_sent(rig.cli, rig.collector)
    before = len(rig.collector.known)
    rig.cli.json("telemetry", "send", "--all")
    assert len(rig.collector.known) == before


# Who says where it goes


@pytest.mark.parametrize("is_named", [False, True])
def test_a_repository_that_is_not_trusted_sends_nothing(rig: TelemetryRig, is_named: bool) -> None:
    """Not even with a name for it that the user trusts elsewhere: its own file counts alone."""
    other = {
        "endpoint": f"{rig.collector.url}/theirs",
        "headers": {"x-key": "HOME"},
        "content": True,
    }
    rig.configure({}, telemetry=other)
    rig.cli.json("trust", "--revoke", quiet=False)
    if is_named:
        rig.cli.home.joinpath("hookline.yaml").write_text(
            f"version: 1\ntelemetry: {{endpoint: '{rig.collector.url}/mine'}}\n"
        )
    status = rig.cli.json("telemetry", "status", quiet=False)
    rig.cli("task", "add", "look")
    rig.cli("telemetry", "send", "--all")
    if not is_named:
        assert status["destination"] is None
        assert not rig.collector.bodies
        return
    assert status["content"] is False
    assert {each["path"] for each in rig.collector.requests} == {"/mine/v1/traces"}
    assert all("x-key" not in each for each in rig.collector.headers)


def test_ones_own_file_counts_as_a_whole(rig: TelemetryRig) -> None:
    """A header of one's own never goes to an endpoint that the repository names."""
    rig.sends(telemetry={"headers": {"x-theirs": "THEIRS"}, "content": True})
    own = {"endpoint": f"{rig.collector.url}/mine", "headers": {"x-mine": "MINE"}}
    rig.cli.home.joinpath("hookline.yaml").write_text(f"version: 1\ntelemetry: {json.dumps(own)}\n")
    rig.cli.env |= {"MINE": "m-0123456789", "THEIRS": "t-0123456789"}
    rig.cli.add("look")
    rig.cli.json("telemetry", "send", "--all", quiet=False)
    assert {each["path"] for each in rig.collector.requests} == {"/mine/v1/traces"}
    assert rig.collector.headers[0]["x-mine"] == "m-0123456789"
    assert all("x-theirs" not in each for each in rig.collector.headers)
    assert rig.cli.json("telemetry", "status", quiet=False)["content"] is False


def test_the_standard_variables(rig: TelemetryRig) -> None:
    rig.configure({})
    rig.cli.env |= {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"{rig.collector.url}/base",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Basic%20abc,x-more=1",
        "OTEL_METRICS_EXPORTER": "otlp",
        "OTEL_SERVICE_NAME": "night",
        "OTEL_RESOURCE_ATTRIBUTES": "team=blue",
    }
    rig.cli.add("look")
    rig.cli.json("telemetry", "send", "--all")
    paths = {each["path"] for each in rig.collector.requests}
    assert paths == {"/base/v1/traces", "/base/v1/metrics"}
    assert rig.collector.headers[0]["authorization"] == "Basic abc"
    resource = rig.collector.spans[0].resource
    assert (resource["service.name"], resource["team"]) == ("night", "blue")
    assert rig.collector.metrics[0]["hookline.tasks"] == {(("state", "ready"),): 1.0}
    rig.cli.env["OTEL_SDK_DISABLED"] = "true"
    assert rig.cli.json("telemetry", "status")["destination"] is None
    rig.cli.env["OTEL_SDK_DISABLED"] = ""
    rig.cli.env["OTEL_EXPORTER_OTLP_PROTOCOL"] = "grpc"
    code, error = rig.cli.refused("telemetry", "send")
    assert (code, error["code"]) == (1, "telemetry")
    assert "http/protobuf" in error["message"]


def test_a_header_whose_variable_is_not_set(rig: TelemetryRig) -> None:
    rig.turns(rest=PROMISE)
    rig.sends(telemetry={"headers": {"authorization": "COLLECTOR_KEY"}})
    done = rig.run()
    assert done.code == 0
    assert "telemetry is not sent: the environment variable COLLECTOR_KEY is not set" in done.stderr
    assert not rig.collector.bodies


def test_the_agent_does_not_have_the_key_and_no_output_shows_it(rig: TelemetryRig) -> None:
    rig.cli.env["COLLECTOR_KEY"] = "pk-lf-unlikely-words"
    rig.turns('echo "key: $COLLECTOR_KEY."; echo pk-lf-unlikely-words', PROMISE)
    rig.sends(HOOKS, telemetry={"headers": {"authorization": "COLLECTOR_KEY"}, "content": True})
    assert rig.run().code == 0
    assert {each["authorization"] for each in rig.collector.headers} == {"pk-lf-unlikely-words"}
    assert "unlikely" not in words_of(rig.collector)
    assert "key: ." in words_of(rig.collector)


@pytest.mark.parametrize(
    ("section", "code"),
    [
        ({"endpoint": "ftp://example.org"}, "bad-url"),
        ({"endpoint": "http://127.0.0.1:1", "headers": {"a b": "KEY"}}, "bad-header"),
        ({"endpoint": "http://127.0.0.1:1", "headers": {"a": "Basic abc"}}, "bad-header"),
    ],
)
def test_mistakes_in_the_configuration(rig: TelemetryRig, section: Any, code: str) -> None:
    rig.cli.configure(f"telemetry: {json.dumps(section)}\n", trust=False)
    found = rig.cli("check", "--json").json
    assert [each["code"] for each in found["problems"]] == [code]


def test_agents_cannot_send(rig: TelemetryRig) -> None:
    rig.sends()
    agent = rig.cli("telemetry", "send", "--all", env={"HOOKLINE_AGENT": "bot"})
    assert agent.code == 4
    assert not rig.collector.bodies

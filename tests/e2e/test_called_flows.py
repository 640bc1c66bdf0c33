"""Flows that call flows: one run each, waited for, cancelled and explained with its caller."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from hookline.errors import NEEDS_PERSON
from tests.e2e.conftest import eventually, is_running, kill

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

FLOWS = """
flows:
  build:
    steps: [{id: compile, run: "echo built {{input.version}}"}]
  ship:
    steps:
      - {id: made, flow: build, input: {version: "{{input.version}}"}, metadata: {team: core}}
      - {id: out, run: "echo out {{steps.made.compile.stdout}} >> trace"}
  asks:
    steps: [{id: ok, breakpoint: "Good?"}]
  outer:
    steps: [{id: inner, flow: middle}, {id: out, run: "echo out >> trace"}]
  middle:
    steps: [{id: asked, flow: asks}]
  both:
    steps:
      - id: p
        parallel:
          - {id: left, flow: meet, input: {me: left, other: right}}
          - {id: right, run: "touch right; while [ ! -e left ]; do sleep 0.02; done"}
  meet:
    steps: [{id: m, run: "touch left; while [ ! -e right ]; do sleep 0.02; done"}]
  breaks:
    steps: [{id: bad, run: "echo no >&2; exit 3"}]
  fails:
    steps: [{id: sub, flow: breaks}]
  long:
    steps: [{id: nap, run: "echo $$ > pid; exec sleep 300"}]
  waits:
    steps: [{id: sub, flow: long}, {id: out, run: "echo out >> trace"}]
  naps:
    steps: [{id: nap, sleep: 0.3}]
  slow:
    steps: [{id: sub, flow: naps}]
  endless:
    steps: [{id: again, flow: endless}]
"""
CATCHES = """
from hookline import flow
from hookline.domain.runs.model import EffectFailed


@flow
async def catches(ctx, name):
    try:
        return await ctx.flow(name, id="sub")
    except EffectFailed as problem:
        return {"caught": problem.error}


@flow
async def counts(ctx, upto):
    found = await ctx.parallel(*(ctx.flow("twice", input={"n": n}) for n in range(upto)))
    return sum(found)


@flow
async def large(ctx, length):
    return len(await ctx.flow("same", input={"text": "x" * length}))


@flow
async def same(ctx, text):
    return text


@flow
async def twice(ctx, n):
    return 2 * n
"""


@pytest.fixture
def flows(cli: Cli) -> Cli:
    cli.put(".hookline/flows/more.py", CATCHES)
    cli.configure(FLOWS)
    return cli


def status(cli: Cli, *runs: str) -> list[str]:
    """How runs stand."""
    return [cli.json("flow", "status", run)["status"] for run in runs]


def started(cli: Cli, *args: str) -> dict[str, Any]:
    """The answer of a `flow start`, whatever its exit code."""
    found: dict[str, Any] = cli("flow", "start", *args, "--json").json
    return found


# The result


def test_the_value_of_the_called_flow_is_that_of_the_step(flows: Cli) -> None:
    done = flows("flow", "start", "ship", "--input", '{"version": "1.4"}')
    assert (done.code, done.stdout) == (0, "R-1   completed ship\n")
    assert (flows.root / "trace").read_text() == "out built 1.4\n\n"
    assert "R-2  ✓ node       compile" in done.stderr
    called = flows.json("flow", "status", "R-2")
    assert (called["status"], called["input"]) == ("completed", {"version": "1.4"})
    assert called["metadata"] == {
        "team": "core",
        "startedBy": {"run": "R-1", "effect": "made", "depth": 1},
    }


def test_python_calls_many_side_by_side(flows: Cli) -> None:
    assert started(flows, "counts", "--input", '{"upto": 5}')["value"] == 20
    assert len(flows.json("flow", "status")) == 6


def test_large_values_go_both_ways(flows: Cli) -> None:
    assert started(flows, "large", "--input", '{"length": 300000}')["value"] == 300_000


def test_more_are_called_than_are_advanced_at_once(flows: Cli) -> None:
    assert started(flows, "counts", "--input", '{"upto": 40}')["value"] == 1560


def test_a_called_flow_runs_beside_the_other_branches(flows: Cli) -> None:
    assert started(flows, "both")["status"] == "completed"  # each waits for the other


@pytest.mark.parametrize("serve", [("orchestrate", "R-1"), ("work", "--flows", "--once")])
def test_whoever_advances_runs_advances_those_they_call(flows: Cli, serve: tuple[str, ...]) -> None:
    flows.json("flow", "start", "ship", "--input", '{"version": "2"}', "--detach")
    assert flows(*serve).code == 0
    assert status(flows, "R-1", "R-2") == ["completed", "completed"]


def test_a_called_flow_that_sleeps_is_waited_for(flows: Cli) -> None:
    done = flows("flow", "start", "slow")
    assert (done.code, done.stdout) == (0, "R-1   completed slow\n")
    assert "R-2 is parked until" in done.stderr


def test_one_effect_is_carried_out_by_beginning_the_run(flows: Cli) -> None:
    flows.json("flow", "start", "outer", "--detach")
    shown = flows.json("effect", "run", "R-1", "inner")
    assert (shown["status"], shown["calledRun"]) == ("pending", "R-2")
    flows.json("effect", "run", "R-1", "inner")
    assert len(flows.json("flow", "status")) == 2


# Errors


def test_a_failed_run_fails_the_step_and_is_named(flows: Cli) -> None:
    done = flows("flow", "start", "fails", "--json")
    assert done.code == 1
    why = "sub: R-2 (breaks) failed: bad: `echo no >&2; exit 3` exited 3: no"
    assert done.json["error"] == why


def test_a_flow_can_catch_what_it_called(flows: Cli) -> None:
    caught = started(flows, "catches", "--input", '{"name": "breaks"}')["value"]["caught"]
    assert caught.startswith("R-2 (breaks) failed: bad:")


def test_an_unknown_flow_fails_the_step(flows: Cli) -> None:
    found = started(flows, "catches", "--input", '{"name": "biuld"}')
    assert found["value"] == {"caught": "there is no flow 'biuld'"}
    assert len(flows.json("flow", "status")) == 1


def test_hooklines_own_flows_cannot_be_called(flows: Cli) -> None:
    found = started(flows, "catches", "--input", '{"name": "merge"}')
    assert found["value"] == {"caught": "there is no flow 'merge'"}


def test_input_that_does_not_fit_fails_the_step(flows: Cli) -> None:
    found = started(flows, "catches", "--input", '{"name": "twice"}')["value"]["caught"]
    assert found.startswith("R-2 (twice) failed: flow 'twice' cannot take this input")


def test_a_flow_that_calls_itself_comes_to_its_limit(flows: Cli) -> None:
    done = flows("flow", "start", "endless", "--json")
    assert done.code == 1
    assert done.json["error"].endswith("again: flows called flows 9 deep, the limit is 8")
    assert len(flows.json("flow", "status")) == 9


def test_check_names_the_flow_that_was_meant(cli: Cli) -> None:
    cli.put(".hookline/flows/more.py", CATCHES)
    cli.configure("flows: {a: {steps: [{id: x, flow: twcie}]}}\n", trust=False)
    found = cli("check")
    assert found.code == 2
    assert "error[unknown-flow]: there is no flow 'twcie'" in found.stdout + found.stderr
    assert "did you mean 'twice'?" in found.stdout + found.stderr
    cli.put(".hookline/flows/other.py", CATCHES.replace("twice", "twcie"))
    assert cli("check").code == 0


def test_a_flow_that_is_added_later_is_found(cli: Cli) -> None:
    cli.configure("flows: {a: {steps: [{id: x, flow: twice, input: {n: 1}}]}}\n", trust=False)
    assert cli.refused("flow", "start", "a")[1]["code"] == "bad-configuration"
    cli.put(".hookline/flows/more.py", CATCHES)
    cli.json("trust", "--yes")
    assert started(cli, "a")["value"] == {"x": 2}


# Trust

MODULE = """
async def go(ctx):
    return "went"
"""


def test_a_module_that_only_a_flow_names_at_run_time_is_not_imported(flows: Cli) -> None:
    flows.put("rogue.py", "open('imported', 'w')\n" + MODULE)
    found = started(flows, "catches", "--input", '{"name": "rogue:go"}')["value"]["caught"]
    assert found == "'rogue:go' is not imported: neither trusted files nor a person named it"
    assert not (flows.root / "imported").exists()


def test_a_module_that_trusted_steps_name_is_covered(cli: Cli) -> None:
    cli.put("named.py", MODULE)
    cli.configure("flows: {a: {steps: [{id: x, flow: 'named:go'}]}}\n")
    assert started(cli, "a")["value"] == {"x": "went"}
    cli.put("named.py", MODULE + "open('imported', 'w')\n")
    assert cli.refused("flow", "start", "a")[1]["code"] == "untrusted"
    assert not (cli.root / "imported").exists()


# A person


def test_a_question_of_a_called_flow_is_asked_once(flows: Cli) -> None:
    asked = flows("flow", "start", "outer")
    assert asked.code == NEEDS_PERSON
    assert asked.stdout.splitlines() == [
        "R-1   parked    outer  waits for flow 'inner' (R-2)",
        "  R-2   parked    middle  waits for flow 'asked' (R-3)",
        "  R-3   parked    asks  waits for breakpoint 'ok'",
        "  Good?",
        "  answer it: hookline answer R-3 ok yes (or: no)",
    ]
    attention = flows("attention", "--json")
    assert attention.code == NEEDS_PERSON
    (item,) = attention.json
    assert (item["id"], item["message"]) == ("R-3 ok", "The flow asks asks: Good? (called by R-2)")
    served = flows("work", "--flows", "--once", "--json")
    assert (served.code, served.json["forPerson"]) == (NEEDS_PERSON, ["R-3"])
    assert flows("orchestrate", "R-1", "--json").code == NEEDS_PERSON
    assert flows("answer", "R-3", "ok", "yes").code == 0
    assert flows("orchestrate", "R-1").code == 0
    assert status(flows, "R-1", "R-2", "R-3") == ["completed"] * 3


def test_nothing_is_written_while_nothing_comes(flows: Cli) -> None:
    flows("flow", "start", "outer")
    before = len(flows.events())
    assert flows("orchestrate", "R-1").code == NEEDS_PERSON
    assert flows("work", "--flows", "--once").code == NEEDS_PERSON
    assert len(flows.events()) == before


# Both are shown with each other


def test_the_runs_are_explained_with_each_other(flows: Cli) -> None:
    flows("flow", "start", "outer")
    (effect,) = flows.json("effect", "list", "R-1")
    assert (effect["kind"], effect["calledRun"]) == ("flow", "R-2")
    assert "pending  flow        inner  middle (R-2)" in flows("effect", "list", "R-1").stdout
    shown = flows.json("flow", "show", "R-2")
    assert shown["calledBy"] == {"runId": "R-1", "chapter": 1, "effectId": "inner"}
    assert "  called by R-1, inner\n" in flows("flow", "status", "R-2").stdout
    assert "    R-2   parked    middle  waits for" in flows("flow", "status", "R-1").stdout
    why = flows("why", "R-1").stdout
    assert "middle (R-2) is parked: waits for flow 'asked' (R-3)" in why
    assert "called by" in flows("why", "R-3").stdout
    assert flows("flow", "graph", "R-1").stdout == "● inner flow  middle (R-2)\n"
    assert "○ inner flow  middle" in flows("flow", "graph", "outer").stdout
    doctor = flows("doctor", "--json").json
    assert "effects, matching the log" in str(doctor)


# Cancel, pause, stop


def test_cancelling_the_caller_cancels_all_that_it_called(flows: Cli) -> None:
    flows("flow", "start", "outer")
    assert flows.json("flow", "cancel", "R-1", "--reason", "no more")["status"] == "cancelled"
    assert status(flows, "R-1", "R-2", "R-3") == ["cancelled"] * 3
    assert flows.json("flow", "status", "R-3")["error"] == "no more"
    assert flows.json("attention") == []


def test_cancelling_what_was_called_fails_the_step(flows: Cli) -> None:
    flows("flow", "start", "outer")
    flows.json("flow", "cancel", "R-3", "--reason", "no more")
    assert flows("work", "--flows", "--once").code == 0
    assert status(flows, "R-1", "R-2", "R-3") == ["failed", "failed", "cancelled"]
    error = flows.json("flow", "status", "R-1")["error"]
    assert error == ("inner: R-2 (middle) failed: asked: R-3 (asks) was cancelled: no more")


def child_pid(cli: Cli) -> int:
    """The pid that the command of the long flow wrote."""
    path = cli.root / "pid"
    eventually(lambda: path.exists() and path.read_text().strip() != "", "the command started")
    return int(path.read_text())


@pytest.mark.parametrize("verb", ["cancel", "pause", "stop"])
def test_processes_of_a_called_run_end_with_its_caller(flows: Cli, verb: str) -> None:
    driver = flows.start("flow", "start", "waits", "--json")
    pid = child_pid(flows)
    flows.json("flow", verb, "R-1", quiet=False)
    driver.communicate(timeout=60)
    assert driver.returncode == {"cancel": 1, "pause": 0, "stop": NEEDS_PERSON}[verb]
    assert not is_running(pid)
    word = {"cancel": "cancelled", "pause": "paused", "stop": "parked"}[verb]
    assert status(flows, "R-1", "R-2") == [word, word]
    items = [item["id"] for item in flows("attention", "--json").json]
    assert items == (["R-1"] if verb == "stop" else [])


@pytest.mark.parametrize("verb", ["pause", "stop"])
def test_resuming_the_caller_resumes_what_it_called(flows: Cli, verb: str) -> None:
    flows("flow", "start", "outer")
    flows.json("flow", verb, "R-1")
    flows.json("effect", "post", "R-3", "ok", "--status", "ok")
    assert flows("flow", "resume", "R-1", "--json").json["status"] == "completed"
    assert status(flows, "R-1", "R-2", "R-3") == ["completed"] * 3


def test_what_was_paused_alone_is_resumed_with_its_caller(flows: Cli) -> None:
    flows("flow", "start", "outer")
    flows.json("flow", "pause", "R-3")
    flows.json("effect", "post", "R-3", "ok", "--status", "ok")
    assert flows("orchestrate", "R-1", "--json").json["status"] == "parked"
    assert "R-3   paused    asks" in flows("orchestrate", "R-1").stdout
    assert flows("flow", "resume", "R-1", "--json").json["status"] == "completed"


def test_a_question_that_is_given_up_is_not_waited_for(cli: Cli) -> None:
    cli.configure(
        "flows:\n  asks: {steps: [{id: ok, breakpoint: 'Good?', max_age: 1h}]}\n"
        "  calls: {steps: [{id: sub, flow: asks}]}\n"
    )
    assert cli("flow", "start", "calls", "--json").code == NEEDS_PERSON


def test_a_file_that_changes_under_a_called_run_is_not_started(cli: Cli) -> None:
    cli.put("tool.sh", "echo one >> trace\n")
    cli.configure(
        "flows:\n  tool: {steps: [{id: ok, breakpoint: 'Go?'}, {id: go, run: sh tool.sh}]}\n"
        "  calls: {steps: [{id: sub, flow: tool}]}\n"
    )
    assert cli("flow", "start", "calls").code == NEEDS_PERSON
    cli.put("tool.sh", "echo two >> trace\n")
    cli("answer", "R-2", "ok", "yes")
    assert cli("orchestrate", "R-1").code != 0
    assert not (cli.root / "trace").exists()
    cli.json("trust", "--yes")
    assert cli("flow", "resume", "R-1", "--json").json["status"] == "completed"


def test_an_interrupt_parks_both_and_names_one(flows: Cli) -> None:
    driver = flows.start("flow", "start", "waits")
    pid = child_pid(flows)
    driver.send_signal(signal.SIGINT)
    _, told = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert "resume it with `hookline orchestrate R-1`" in told
    assert not is_running(pid)
    assert status(flows, "R-1", "R-2") == ["parked", "parked"]
    (item,) = flows("attention", "--json").json
    assert (item["kind"], item["command"]) == ("run", "hookline flow resume R-1")


def test_a_killed_caller_is_followed_by_another(flows: Cli) -> None:
    driver = flows.start("flow", "start", "waits", "--json")
    pid = child_pid(flows)
    kill(driver)
    os.unlink(flows.root / "pid")
    second = flows.start("orchestrate", "R-1", "--json")
    assert child_pid(flows) != pid
    assert not is_running(pid)
    assert len(flows.json("flow", "status")) == 2
    flows.json("flow", "cancel", "R-1", quiet=False)
    assert second.wait(60) == 1


def test_a_result_that_was_posted_by_hand_counts(flows: Cli) -> None:
    flows("flow", "start", "outer")
    flows.json("effect", "post", "R-1", "inner", "--status", "ok", "--value", '"mine"')
    assert flows("orchestrate", "R-1", "--json").json["value"]["inner"] == "mine"
    flows.json("effect", "post", "R-3", "ok", "--status", "ok")
    assert flows("orchestrate", "R-2", "--json").json["status"] == "completed"


def test_a_rerun_calls_again(flows: Cli) -> None:
    flows("flow", "start", "ship", "--input", '{"version": "1"}')
    again = flows("flow", "rerun", "R-1", "--from", "made", "--json").json
    assert (again["runId"], again["status"]) == ("R-3", "completed")
    assert flows.json("flow", "status", "R-4")["calledBy"]["runId"] == "R-3"
    kept = flows("flow", "rerun", "R-1", "--from", "out", "--json").json
    assert kept["status"] == "completed"
    assert len(flows.json("flow", "status")) == 5


def test_a_process_inside_a_called_run_does_not_wait_for_its_caller(flows: Cli) -> None:
    flows("flow", "start", "outer")
    code, error = flows.refused("orchestrate", "R-1", env={"HOOKLINE_RUN_ID": "R-3"})
    assert (code, error["code"]) == (1, "illegal-transition")

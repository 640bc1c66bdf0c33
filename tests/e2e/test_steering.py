"""Hooks at both ends of a tick: their contracts, their layers, and what becomes of bad ones."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import eventually, is_running, kill

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli, Result

START, END = "on-iteration-start", "on-iteration-end"
TWO = """
flows:
  two:
    steps:
      - id: both
        parallel:
          - {id: a, run: "echo a >> trace"}
          - {id: b, run: "echo b >> trace"}
  one:
    steps: [{id: a, run: "echo a >> trace"}]
  bad:
    steps: [{id: a, run: "exit 3"}]
"""
RECORD = """#!/bin/sh
cat >> seen-$HOOKLINE_POINT
echo >> seen-$HOOKLINE_POINT
env | grep '^HOOKLINE_' > env-$HOOKLINE_POINT
"""


def say(answer: Any) -> str:
    """A script that answers with this."""
    return f"#!/bin/sh\ncat > /dev/null\ncat <<'END'\n{json.dumps(answer)}\nEND\n"


def steer(cli: Cli, hooks: dict[str, str], config: str = TWO) -> None:
    """Configure a project with executable files in its hook folders."""
    for name, text in hooks.items():
        cli.put(f".hookline/hooks/{name}", text, 0o755)
    cli.configure(config)


def start(cli: Cli, flow: str = "two", *options: str) -> Result:
    return cli("flow", "start", flow, *options, "--json")


def trace(cli: Cli) -> list[str]:
    """What the effects of a run have written."""
    path = cli.root / "trace"
    return path.read_text().split() if path.exists() else []


def errors(cli: Cli) -> list[tuple[str, str]]:
    """Which hooks failed, and how."""
    return [(e["data"]["hookName"], e["data"]["error"]) for e in cli.events("hook_error")]


# Contracts


def test_hooks_receive_exactly_the_fields_of_the_contract(cli: Cli) -> None:
    steer(cli, {f"{START}/record": RECORD, f"{END}/record": RECORD})
    assert start(cli, "one").json["status"] == "completed"
    began = [json.loads(line) for line in (cli.root / f"seen-{START}").read_text().splitlines()]
    ended = [json.loads(line) for line in (cli.root / f"seen-{END}").read_text().splitlines()]
    assert [list(each) for each in began] == [["runId", "iteration", "timestamp"]]
    assert [list(each) for each in ended] == [["runId", "iteration", "status", "timestamp"]]
    assert (began[0]["runId"], began[0]["iteration"]) == ("R-1", 1)
    assert (ended[0]["iteration"], ended[0]["status"]) == (1, "completed")
    assert datetime.fromisoformat(began[0]["timestamp"]).tzinfo is not None


def test_a_run_that_fails_is_told_as_failed(cli: Cli) -> None:
    steer(cli, {f"{END}/record": RECORD})
    assert start(cli, "bad").json["status"] == "failed"
    last = (cli.root / f"seen-{END}").read_text().splitlines()[-1]
    assert json.loads(last)["status"] == "failed"


def test_hooks_find_the_run_in_their_environment(cli: Cli) -> None:
    steer(cli, {f"{START}/record": RECORD})
    start(cli, "one")
    lines = (cli.root / f"env-{START}").read_text().splitlines()
    found = dict(line.split("=", 1) for line in lines)
    assert found["HOOKLINE_RUN_ID"] == "R-1"
    assert found["HOOKLINE_ITERATION"] == "1"
    assert found["HOOKLINE_FLOW"] == "one"
    assert found["HOOKLINE_POINT"] == START
    assert found["HOOKLINE_HOOK"] == f"{START}/record"
    assert found["HOOKLINE_RUN_DIR"] == str(cli.root / ".hookline" / "runs" / "R-1")


def test_the_native_hooks_answer_as_the_contract_says(cli: Cli) -> None:
    steer(cli, {f"{START}/ask": RECORD, f"{END}/ask": RECORD})
    start(cli, "one")
    [decision] = cli.calls("native-orchestrator", "answer")
    assert json.loads(decision) == {"action": "executed-tasks", "count": 1, "tasks": ["a"]}
    [status] = cli.calls("native-finalization", "answer")
    assert json.loads(status) == {
        "iteration": 1,
        "finalStatus": "completed",
        "pendingEffects": 0,
        "needsMoreIterations": False,
    }


# Layers


def test_an_unknown_action_of_the_project_decides_and_is_recorded(cli: Cli) -> None:
    custom = {"action": "custom", "message": "Per-repo orchestration active"}
    steer(cli, {f"{START}/custom.sh": say(custom)})
    result = start(cli)
    assert (result.json["status"], trace(cli)) == ("parked", [])
    assert "no progress in 3 iterations" in result.json["reason"]
    answers = cli.calls(f"{START}/custom.sh", "answer")
    assert [json.loads(answer) for answer in answers] == [custom] * 3
    assert cli.calls("native-orchestrator") == []


def test_project_before_user_before_native_and_by_file_name(cli: Cli) -> None:
    for name in ("a-user.sh", "z-user.sh"):
        path = cli.home / "hooks" / START / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {name} >> asked\n")
        path.chmod(0o755)
    steer(
        cli,
        {
            f"{START}/20-second": "#!/bin/sh\necho second >> asked\n",
            f"{START}/10-first": '#!/bin/sh\necho first >> asked; echo \'{"action":"none"}\'\n',
        },
    )
    assert start(cli).json["status"] == "completed"
    asked = (cli.root / "asked").read_text().split()
    assert asked[:4] == ["first", "second", "a-user.sh", "z-user.sh"]
    assert sorted(trace(cli)) == ["a", "b"]


@pytest.mark.parametrize("answer", [{"action": "waiting"}, {"action": "executed-tasks"}])
def test_the_first_that_acts_or_waits_decides(cli: Cli, answer: dict[str, Any]) -> None:
    later = "#!/bin/sh\ntouch asked\n"
    steer(cli, {f"{START}/10": say(answer), f"{START}/20": later})
    assert start(cli).json["status"] == "parked"
    assert not (cli.root / "asked").exists()


def test_native_hooks_can_be_switched_off_by_hand(cli: Cli) -> None:
    steer(cli, {})
    cli.json("hook", "disable", "native-orchestrator")
    assert (start(cli).json["status"], trace(cli)) == ("parked", [])
    cli.json("hook", "enable", "native-orchestrator")
    cli.json("hook", "disable", "native-finalization")
    assert cli("orchestrate", "R-1").code == 0
    assert sorted(trace(cli)) == ["a", "b"]


def test_native_hooks_can_be_switched_off_in_the_configuration(cli: Cli) -> None:
    off = "{name: native-orchestrator, enabled: false}"
    steer(cli, {}, f"{TWO}hooks:\n  {START}: [{off}]\n")
    assert (start(cli).json["status"], trace(cli)) == ("parked", [])
    [row] = [h for h in cli.json("hook", "list") if h["name"] == "native-orchestrator"]
    assert row["enabled"] is False


# Decisions


def test_named_tasks_run_resolved_ones_are_skipped_unknown_ones_are_reported(cli: Cli) -> None:
    named = {"action": "executed-tasks", "tasks": ["both/b", "no-such"]}
    steer(cli, {f"{START}/name": say(named)})
    result = start(cli)
    assert (result.json["status"], trace(cli)) == ("parked", ["b"])
    found = set(errors(cli))
    assert found == {(f"{START}/name", "it named 'no-such', which R-1 does not have")}


def test_waiting_ticks_again_after_so_many_seconds(cli: Cli) -> None:
    script = """#!/bin/sh
if [ "$HOOKLINE_ITERATION" = 1 ]; then
    echo '{"action": "waiting", "reason": "rate-limit", "waitSeconds": 0.7}'
fi
"""
    steer(cli, {f"{START}/wait": script})
    assert start(cli, "one").json["status"] == "completed"
    first, second = (datetime.fromisoformat(at) for at in cli.calls(f"{START}/wait", "started_at"))
    assert second - first >= timedelta(seconds=0.7)


def test_waiting_ends_when_something_happens_to_the_run(cli: Cli) -> None:
    steer(cli, {f"{START}/wait": say({"action": "waiting", "waitSeconds": 600})})
    process = cli.start("flow", "start", "one", "--json")
    waits = "SELECT 1 FROM effects WHERE status = 'pending'"
    eventually(lambda: stored(cli, waits), "the effect was asked for")
    cli.json("effect", "post", "R-1", "a", "--status", "ok", "--value", "1")
    process.communicate(timeout=60)
    cli("orchestrate", "R-1")
    assert cli.json("flow", "status", "R-1")["status"] == "completed"


def stored(cli: Cli, sql: str) -> bool:
    """Whether the store has such rows by now; it may not be there yet."""
    with suppress(sqlite3.OperationalError):
        return bool(cli.rows(sql))
    return False


def test_the_first_answer_about_more_iterations_decides(cli: Cli) -> None:
    enough = {"finalStatus": "waiting", "pendingEffects": 2, "needsMoreIterations": False}
    steer(
        cli,
        {
            f"{START}/name": say({"action": "executed-tasks", "tasks": ["both/b"]}),
            f"{END}/10-other": say({"action": "custom"}),
            f"{END}/20-enough": say(enough),
            f"{END}/30-late": "#!/bin/sh\ntouch asked\n",
        },
    )
    result = start(cli)
    assert result.json["status"] == "parked"
    assert "no more iterations" in result.json["reason"]
    assert not (cli.root / "asked").exists()
    assert cli.calls(f"{END}/10-other")[0] == "ok"


def test_iterations_are_limited(cli: Cli) -> None:
    one = '#!/bin/sh\necho \'{"action": "waiting", "waitSeconds": 0}\'\n'
    steer(cli, {f"{START}/wait": one})
    result = start(cli, "one", "--max-iterations", "2")
    assert (result.code, result.json["status"]) == (5, "parked")
    assert len(cli.calls(f"{START}/wait")) == 2


def test_a_hook_passes_tasks_on_to_the_next(cli: Cli) -> None:
    steer(
        cli,
        {
            f"{START}/10": say({"action": "pass", "tasks": ["both/b"]}),
            f"{START}/20": RECORD,
        },
    )
    assert start(cli).json["status"] == "parked"
    seen = json.loads((cli.root / f"seen-{START}").read_text().splitlines()[0])
    assert seen["tasks"] == ["both/b"]
    assert trace(cli) == ["b"]


# State


def test_hooks_keep_files_and_values_for_the_next_tick(cli: Cli) -> None:
    script = """#!/bin/sh
count=$(hookline flow value "$HOOKLINE_RUN_ID" count --json)
[ "$count" = null ] && count=0
hookline flow value "$HOOKLINE_RUN_ID" count $((count + 1)) > /dev/null
echo "$HOOKLINE_ITERATION" >> "$HOOKLINE_RUN_DIR/ticks"
echo '{"action": "custom"}'
"""
    cli.env["PATH"] = f"{Path(sys.executable).parent}:{cli.env['PATH']}"
    steer(cli, {f"{START}/count": script})
    start(cli, "one")
    assert (cli.root / ".hookline/runs/R-1/ticks").read_text().split() == ["1", "2", "3"]
    assert cli.json("flow", "value", "R-1", "count") == 3
    assert cli.json("flow", "value", "R-1", "other") is None
    code, error = cli.refused("flow", "value", "R-1", "hookline.schedule.1", "{}")
    assert (code, error["code"]) == (2, "bad-input")
    assert cli.refused("flow", "value", "R-9", "count")[1]["code"] == "unknown-run"


# Scheduling


@pytest.mark.torture
def test_a_schedule_is_kept_over_a_kill_and_honoured(cli: Cli) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=6)
    answer = {"action": "schedule", "executeAt": moment.isoformat(), "tasks": ["both/a"]}
    steer(cli, {f"{START}/10-later": say(answer)}, TWO.replace("echo a", "date +%s.%N"))
    process = cli.start("flow", "start", "two", "--json")
    kept = "SELECT 1 FROM run_values WHERE name = 'hookline.schedule.1'"
    eventually(lambda: stored(cli, kept), "the schedule was stored")
    kill(process)
    cli.json("hook", "disable", f"{START}/10-later")
    assert cli("orchestrate", "R-1").code == 0
    assert cli.json("flow", "status", "R-1")["status"] == "completed"
    assert sorted(trace(cli))[-1] == "b"
    assert float(min(trace(cli))) >= moment.timestamp()


def test_what_should_have_run_already_runs_now(cli: Cli) -> None:
    past = {"action": "schedule", "executeAt": "2020-01-01T00:00:00Z", "tasks": ["a"]}
    steer(cli, {f"{START}/past": say(past)})
    assert (start(cli, "one").json["status"], trace(cli)) == ("completed", ["a"])


# Bad hooks

BAD = {
    "prose": ("#!/bin/sh\necho all is well\n", "expected a JSON object"),
    "a list": ("#!/bin/sh\necho '[1, 2]'\n", "expected a JSON object"),
    "50 MB": ("#!/bin/sh\nhead -c 50000000 /dev/zero | tr '\\0' x\n", "expected a JSON object"),
    "exit 7": ("#!/bin/sh\necho broken >&2\nexit 7\n", "exited 7: broken"),
    "killed": ("#!/bin/sh\nkill -9 $$\n", "killed by SIGKILL"),
    "no program": ("#!/no/such/program\n", "interpreter"),
    "no action": (say({"tasks": []}), "the answer has no `action`"),
    "tasks": (say({"action": "executed-tasks", "tasks": "a"}), "list of effect ids"),
    "wait": (say({"action": "waiting", "waitSeconds": "soon"}), "number of seconds"),
    "below zero": (say({"action": "waiting", "waitSeconds": -1}), "number of seconds"),
    "no time": (say({"action": "schedule", "tasks": ["a"]}), "needs `executeAt`"),
    "bad time": (say({"action": "schedule", "executeAt": "soon"}), "is not a time"),
}


@pytest.mark.examples(4)
@pytest.mark.parametrize("name", BAD)
def test_a_bad_hook_is_named_and_the_next_is_asked(cli: Cli, name: str) -> None:
    script, said = BAD[name]
    steer(cli, {f"{START}/10 {name}": script})
    assert (start(cli, "one").json["status"], trace(cli)) == ("completed", ["a"])
    hook, error = errors(cli)[0]
    assert hook == f"{START}/10 {name}"
    assert said in error
    assert cli.calls(hook)[0] == "failed"
    assert cli.calls("native-orchestrator")[0] == "ok"


def test_a_hook_that_hangs_is_ended_and_the_next_is_asked(cli: Cli) -> None:
    hang = cli.put("hang.sh", "#!/bin/sh\nsleep 600 &\necho $! > pid\nwait\n", 0o755)
    entry = f"{{name: hang, script: {hang.name}, timeout: 1}}"
    steer(cli, {}, f"{TWO}hooks:\n  {START}: [{entry}]\n")
    assert (start(cli, "one").json["status"], trace(cli)) == ("completed", ["a"])
    assert errors(cli)[0] == ("hang", "timed out after 1 s")
    assert not is_running(int((cli.root / "pid").read_text()))


def test_a_hook_that_is_not_executable_is_named(cli: Cli) -> None:
    steer(cli, {f"{START}/good": RECORD})
    cli.put(f".hookline/hooks/{START}/plain", "#!/bin/sh\n", 0o644)
    report = cli("check").stdout + cli("check").stderr
    assert "plain" in report
    assert "not executable" in report


def test_an_answer_about_iterations_must_be_true_or_false(cli: Cli) -> None:
    steer(cli, {f"{END}/bad": say({"needsMoreIterations": "yes"})})
    assert start(cli, "one").json["status"] == "completed"
    assert "true or false" in errors(cli)[0][1]


def test_a_hook_left_behind_by_a_killed_process_is_ended(cli: Cli) -> None:
    hang = "#!/bin/sh\n[ -e pid ] && exit 0\nsleep 600 &\necho $! > pid\nwait\n"
    steer(cli, {f"{START}/hang": hang})
    process = cli.start("flow", "start", "one", "--json")
    path = cli.root / "pid"
    eventually(lambda: path.exists() and bool(path.read_text().strip()), "the hook began")
    kill(process)
    assert cli("orchestrate", "R-1").code == 0
    assert not is_running(int(path.read_text()))
    assert trace(cli) == ["a"]
    assert cli.calls(f"{START}/hang", "status, error")[0] == (
        "cut",
        "the process that called it ended",
    )


# Looking at it


def test_debug_shows_input_output_and_decision(cli: Cli) -> None:
    steer(cli, {f"{START}/name": say({"action": "executed-tasks", "tasks": ["a"]})})
    shown = cli("flow", "start", "one", "--json", env={"HOOKLINE_DEBUG": "1"})
    lines = [line for line in shown.stderr.splitlines() if line.startswith("[hookline] ")]
    told = [json.loads(line.removeprefix("[hookline] ")) for line in lines]
    by_hook = {each["hook"]: each for each in reversed(told)}
    assert set(by_hook[f"{START}/name"]["input"]) == {"runId", "iteration", "timestamp"}
    assert by_hook[f"{START}/name"]["output"]["tasks"] == ["a"]
    assert by_hook[f"{START}: decision"]["output"]["action"] == "executed-tasks"
    assert "native-finalization" in by_hook


def test_a_steering_call_can_be_explained_and_replayed(cli: Cli) -> None:
    steer(cli, {f"{START}/name": say({"action": "executed-tasks", "tasks": ["a"]})})
    start(cli, "one")
    [event] = [e for e in cli.events("run_iteration") if e["data"]["point"] == START]
    assert f"{START}/name ran at event {event['seq']}" in cli("why", f"{START}/name").stdout
    again = cli.json("hook", "replay", f"{START}/name", "--event", str(event["seq"]))
    assert (again["same"], again["answer"]["tasks"]) == (True, ["a"])


# Run points

POINTS = """
flows:
  ship:
    steps:
      - {id: build, run: "true", metadata: {team: core}}
      - {id: ok, breakpoint: "Ship it?"}
      - {id: ship, run: "exit 4"}
hooks:
"""
NOTICES = {
    "on-run-start": "{{run_id}} {{flow}} {{status}}",
    "on-effect-start": "{{effect_id}} {{effect_kind}} {{status}}",
    "on-effect-complete": "{{effect_id}} {{effect_kind}} {{status}} {{error}}",
    "on-breakpoint": "{{effect_id}} {{question}}",
    "on-run-complete": "{{status}}",
    "on-run-fail": "{{status}} {{error}}",
}


@pytest.fixture
def notices(cli: Cli) -> Path:
    lines = [
        f"  {point}: [{{name: {point}, command: 'echo {point} {line} >> told'}}]"
        for point, line in NOTICES.items()
    ]
    cli.configure(POINTS + "\n".join(lines) + "\n")
    return cli.root / "told"


def test_run_points_fire_with_what_they_promise(cli: Cli, notices: Path) -> None:
    assert cli("flow", "start", "ship", "--json").code == 4
    assert [line.rstrip() for line in notices.read_text().splitlines()] == [
        "on-run-start R-1 ship running",
        "on-effect-start build node running",
        "on-effect-complete build node ok",
        "on-breakpoint ok Ship it?",
    ]
    cli.json("answer", "R-1", "ok", "yes")
    assert cli("orchestrate", "R-1").code == 1
    *_, answered, began, ended, failed = notices.read_text().splitlines()
    assert answered.rstrip() == "on-effect-complete ok breakpoint ok"
    assert began == "on-effect-start ship node running"
    assert ended == "on-effect-complete ship node error `exit 4` exited 4"
    assert failed.startswith("on-run-fail failed ship: ")
    assert cli.calls("on-run-complete") == []


def test_the_payload_of_a_run_point_holds_the_notice_and_the_event(cli: Cli) -> None:
    cli.configure(
        POINTS + "  on-effect-complete: [{name: seen, when: \"metadata.team == 'core'\","
        " command: 'cat > seen.json'}]\n"
    )
    cli("flow", "start", "ship", "--json")
    seen = json.loads((cli.root / "seen.json").read_text())
    assert seen["event"]["type"] == "effect_resolved"
    del seen["event"], seen["task"]
    assert seen == {
        "runId": "R-1",
        "flow": "ship",
        "effectId": "build",
        "step": "build",
        "kind": "node",
        "status": "ok",
        "metadata": {"team": "core"},
        "error": None,
        "question": None,
    }


def test_a_call_at_a_run_point_can_be_explained_and_replayed(cli: Cli, notices: Path) -> None:
    cli("flow", "start", "ship", "--json")
    [row] = cli.rows("SELECT event_seq, point FROM deliveries WHERE hook = 'on-breakpoint'")
    assert row[1] == "on-breakpoint"
    assert "on-breakpoint ran at event" in cli("why", "on-breakpoint").stdout
    again = cli.json("hook", "replay", "on-breakpoint", "--event", str(row[0]))
    assert again["same"] is True
    assert notices.read_text().splitlines().count("on-breakpoint ok Ship it?") == 2
    tested = cli.json("hook", "test", "on-run-start")
    assert tested["status"] == "ok"


def test_nothing_is_written_about_beginnings_that_nobody_wants_to_know(cli: Cli) -> None:
    cli.configure(TWO)
    start(cli)
    assert cli.events("effect_started") == []


# Trying hooks out


def test_a_point_can_be_fired_by_hand(cli: Cli) -> None:
    steer(cli, {})
    given = '{"runId":"test-run","iteration":1,"timestamp":"2026-01-19T18:00:00Z"}'
    native = cli("hook", "dispatch", START, "--json", stdin=given)
    assert native.json["action"] == "none"
    custom = {"action": "custom", "message": "Per-repo orchestration active"}
    steer(cli, {f"{START}/custom.sh": say(custom)})
    assert cli("hook", "dispatch", START, "--json", stdin=given).json == custom
    ended = given.replace('"timestamp"', '"status":"waiting","timestamp"')
    assert cli("hook", "dispatch", END, "--json", stdin=ended).json == {
        "iteration": 1,
        "finalStatus": "waiting",
        "pendingEffects": 0,
        "needsMoreIterations": True,
    }


def test_a_point_fired_by_hand_refuses_what_a_tick_would(cli: Cli) -> None:
    steer(cli, {f"{END}/odd.sh": say({"needsMoreIterations": "perhaps"})})
    given = '{"runId":"test-run","iteration":1,"status":"completed"}'
    fired = cli("hook", "dispatch", END, "--json", stdin=given)
    assert "`needsMoreIterations` must be true or false" in fired.stderr
    assert fired.json["needsMoreIterations"] is False

"""`hookline effect` and `hookline hook dispatch`, as hooks and people run them."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.e2e.conftest import Cli, eventually

TWO = """
flows:
  two:
    steps:
      - id: both
        parallel:
          - {id: a, run: "echo $HOOKLINE_EFFECT_ID >> trace; echo A", metadata: {priority: 7}}
          - {id: b, run: "echo $HOOKLINE_EFFECT_ID >> trace; exit 3"}
      - {id: ok, breakpoint: "Fine?"}
  chore:
    steps: [{id: doc, task: {goal: "write it"}}]
"""
# Steering that carries out one effect per tick by itself, as a script of the user's would.
ONE_BY_ONE = f"""#!/bin/sh
first=$({sys.executable} -m hookline effect list "$HOOKLINE_RUN_ID" --pending --json |
  {sys.executable} -c 'import json, sys
for each in json.load(sys.stdin):
    if each["kind"] == "node":
        print(each["effectId"])
        break')
[ -n "$first" ] || {{ echo '{{"action": "waiting", "reason": "nothing to run"}}'; exit 0; }}
{sys.executable} -m hookline effect run "$HOOKLINE_RUN_ID" "$first" --json >&2
echo '{{"action": "executed-tasks", "count": 1, "tasks": ["'"$first"'"]}}'
"""
CALM = '{"runId": "test-run", "iteration": 1, "timestamp": "2026-01-19T18:00:00Z"}'


def trace(cli: Cli) -> list[str]:
    """What the commands of a run wrote."""
    path = cli.root / "trace"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def effects(cli: Cli, *options: str) -> dict[str, dict[str, Any]]:
    """The effects of the first run by their ids."""
    return {each["effectId"]: each for each in cli.json("effect", "list", "R-1", *options)}


def begin(cli: Cli, flow: str = "two") -> None:
    """A detached run."""
    cli.configure(TWO)
    cli.json("flow", "start", flow, "--detach")


def test_list_has_the_names_that_scripts_rely_on(cli: Cli) -> None:
    begin(cli)
    found = effects(cli, "--pending")
    assert list(found) == ["both/a", "both/b"]
    first = found["both/a"]
    assert {"effectId", "step", "kind", "status", "metadata", "requestedAt"} <= first.keys()
    assert (first["step"], first["kind"], first["status"]) == ("a", "node", "pending")
    assert first["metadata"] == {"priority": 7}
    assert "pending  node        both/a" in cli("effect", "list", "R-1").stdout


def test_run_carries_out_one_effect_and_posts_it(cli: Cli) -> None:
    begin(cli)
    done = cli.json("effect", "run", "R-1", "both/a")
    assert (done["status"], done["value"]["stdout"]) == ("ok", "A\n")
    assert trace(cli) == ["both/a"]
    assert list(effects(cli, "--pending")) == ["both/b"]
    assert cli.json("flow", "status", "R-1")["status"] == "running"
    failed = cli("effect", "run", "R-1", "both/b", "--json")
    assert (failed.code, failed.json["status"]) == (1, "error")
    assert cli.json("flow", "status", "R-1")["status"] == "failed"


def test_run_of_a_task_adds_it_and_says_that_it_waits(cli: Cli) -> None:
    begin(cli, "chore")
    assert cli.json("effect", "run", "R-1", "doc")["status"] == "pending"
    (task,) = cli.json("task", "list")
    cli.json("task", "start", task["id"])
    cli.json("task", "complete", task["id"], "--result", "written")
    assert effects(cli)["doc"]["value"]["result"] == "written"


def test_run_under_a_steering_hook_is_done_by_the_engine(cli: Cli) -> None:
    cli.put(".hookline/hooks/on-iteration-start/one.sh", ONE_BY_ONE, 0o755)
    cli.configure(TWO.replace("exit 3", "true"))
    done = cli("flow", "start", "two", "--json")
    assert done.code == 4, done.stderr
    assert trace(cli) == ["both/a", "both/b"]
    assert effects(cli)["both/a"]["attempts"] == 1


def test_run_asks_the_process_that_advances(cli: Cli) -> None:
    answer = '{"action": "waiting", "waitSeconds": 60}'
    script = f"#!/bin/sh\ncat > /dev/null\ntouch asked\necho '{answer}'\n"
    cli.put(".hookline/hooks/on-iteration-start/wait.sh", script, 0o755)
    cli.configure(TWO.replace("exit 3", "true"))
    holder = cli.start("flow", "start", "two")
    eventually(lambda: (cli.root / "asked").exists(), "the first tick")
    assert cli.json("effect", "run", "R-1", "both/a")["status"] == "ok"
    assert trace(cli) == ["both/a"]
    holder.kill()


def test_post_ends_an_effect_once(cli: Cli) -> None:
    begin(cli)
    said = cli.json("effect", "post", "R-1", "both/a", "--status", "ok", "--value", '{"n": 1}')
    assert said == {"runId": "R-1", "effectId": "both/a", "status": "ok"}
    assert effects(cli)["both/a"]["value"] == {"n": 1}
    code, error = cli.refused("effect", "post", "R-1", "both/a", "--status", "ok")
    assert (code, error["code"]) == (1, "effect-resolved")
    assert "both/a" in error["message"]
    code, error = cli.refused("effect", "post", "R-1", "both/z", "--status", "ok")
    assert (code, error["code"]) == (1, "unknown-effect")
    assert "both/z" in error["message"]
    cli.json("effect", "post", "R-1", "both/b", "--status", "error", "--error", "too hot")
    assert effects(cli)["both/b"]["error"] == "too hot"


def test_large_value_is_kept_beside_the_log(cli: Cli) -> None:
    begin(cli)
    large = cli.put("large.json", json.dumps("x" * 200_000))
    post = ("effect", "post", "R-1", "both/a", "--status", "ok")
    cli.json(*post, "--value-file", str(large))
    assert effects(cli)["both/a"]["value"].keys() == {"$blob", "bytes"}
    (size,) = cli.rows("SELECT max(length(data)) FROM events")[0]
    assert size < 70_000
    cli.json("effect", "post", "R-1", "both/b", "--status", "ok", "--value-file", "-", stdin="1")
    assert cli("orchestrate", "R-1").code == 4


def test_bad_input_is_named(cli: Cli) -> None:
    begin(cli)
    post = ("effect", "post", "R-1", "both/a", "--status")
    for args, code, name in [
        ((*post, "fine"), 2, "usage"),
        ((*post, "ok", "--value", "{"), 2, "bad-input"),
        ((*post, "ok", "--value", "1", "--value-file", "f"), 2, "bad-input"),
        ((*post, "ok", "--value-file", "missing"), 2, "bad-input"),
        ((*post, "ok", "--error", "x"), 2, "bad-input"),
        (("effect", "post", "R-9", "a", "--status", "ok"), 1, "unknown-run"),
        (("effect", "list", "R-9"), 1, "unknown-run"),
        (("effect", "run", "R-9", "a"), 1, "unknown-run"),
        (("effect", "run", "R-1", "nothing"), 1, "unknown-effect"),
    ]:
        refused, error = cli.refused(*args)
        assert (refused, error["code"]) == (code, name), args
    assert trace(cli) == []


def test_breakpoints_are_for_people(cli: Cli) -> None:
    begin(cli)
    for name in ("both/a", "both/b"):
        cli.json("effect", "post", "R-1", name, "--status", "ok")
    assert cli("orchestrate", "R-1").code == 4
    code, error = cli.refused("effect", "run", "R-1", "ok")
    assert code == 2
    assert "`hookline answer R-1 ok yes` (or: no)" in error["help"]
    post = ("effect", "post", "R-1", "ok", "--status", "ok")
    code, error = cli.refused(*post, env={"HOOKLINE_AGENT": "bot"})
    assert (code, error["code"]) == (4, "people-only")


def test_dispatch_gives_the_one_answer(cli: Cli) -> None:
    assert cli.json("hook", "dispatch", "on-iteration-start", stdin=CALM)["action"] == "none"
    ending = CALM.replace("}", ', "status": "completed"}')
    ended = cli.json("hook", "dispatch", "on-iteration-end", stdin=ending)
    assert ended == {
        "iteration": 1,
        "finalStatus": "completed",
        "pendingEffects": 0,
        "needsMoreIterations": False,
    }


def test_dispatch_tells_of_a_hook_that_fails_whatever_is_printed(cli: Cli) -> None:
    cli.configure(
        "hooks:\n  on-iteration-start:\n"
        "    - {name: bad, command: 'echo no such table >&2; exit 7'}\n"
    )
    for extra in ((), ("--json",)):
        done = cli("hook", "dispatch", "on-iteration-start", *extra, stdin=CALM)
        assert done.code == 0
        assert done.json["action"] == "none"
        told = done.stderr.splitlines()
        assert told[0].startswith("✗ bad")
        assert told[1].endswith("no such table")


def test_dispatch_asks_the_project_before_the_built_in(cli: Cli) -> None:
    answer = {"action": "custom", "message": "Per-repo orchestration active"}
    script = f"#!/bin/sh\necho '{json.dumps(answer)}'\n"
    cli.put(".hookline/hooks/on-iteration-start/custom.sh", script, 0o755)
    code, error = cli.refused("hook", "dispatch", "on-iteration-start", stdin=CALM)
    assert (code, error["code"]) == (2, "untrusted")
    cli.json("trust", "--yes")
    assert cli.json("hook", "dispatch", "on-iteration-start", stdin=CALM) == answer


def test_dispatch_knows_the_run(cli: Cli) -> None:
    begin(cli)
    payload = CALM.replace("test-run", "R-1")
    answer = cli.json("hook", "dispatch", "on-iteration-start", stdin=payload)
    assert answer["tasks"] == ["both/a", "both/b"]
    assert trace(cli) == []


def test_dispatch_refuses_what_is_no_payload(cli: Cli) -> None:
    for text in ("", "no", "[]"):
        assert cli.refused("hook", "dispatch", "stop", stdin=text)[0] == 2
    code, error = cli.refused("hook", "dispatch", "no-such-point", stdin="{}")
    assert (code, error["code"]) == (2, "bad-input")


def test_dispatch_runs_gates_and_reactions(cli: Cli) -> None:
    actions = '{"actions": [{"type": "log", "payload": {"message": "seen"}}]}'
    script = f"#!/bin/sh\necho '{actions}'\n"
    cli.put(".hookline/hooks/task_completed/note.sh", script, 0o755)
    cli.configure("hooks: {before_submit: [{command: 'exit 1'}]}")
    task = cli.add("a")
    answer = cli.json("hook", "dispatch", "before_submit", stdin="{}")
    assert (answer["status"], answer["message"]) == ("failure", "`exit 1` exited 1")
    payload = {"event": {"nodeId": task, "data": {"result": "done"}}}
    asked = cli.json("hook", "dispatch", "task_completed", stdin=json.dumps(payload))
    assert {"type": "log", "payload": {"message": "seen"}} in asked

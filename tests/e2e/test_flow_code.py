"""Flows as code and as steps, through the command line: found, replayed, pinned, refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hookline.errors import NEEDS_PERSON, USAGE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

HEAD = "from hookline import flow\n\n\n@flow\nasync def x(ctx{}):\n"


def write(cli: Cli, body: str, *, given: str = "", above: str = "") -> None:
    """The project's flow x, trusted."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    text = f"{above}\n{HEAD.format(f', {given}' if given else '')}{lines}"
    cli.put(".hookline/flows/x.py", text)
    cli.json("trust", "--yes")


def start(cli: Cli, name: str = "x", *more: str, code: int = 0) -> dict[str, Any]:
    done = cli("flow", "start", name, *more, "--json")
    assert done.code == code, done.stderr
    found: dict[str, Any] = done.json
    return found


def resume(cli: Cli, run: dict[str, Any], *, code: int = 0) -> dict[str, Any]:
    done = cli("flow", "resume", run["runId"], "--json")
    assert done.code == code, done.stderr
    found: dict[str, Any] = done.json
    return found


def answer(cli: Cli, run: dict[str, Any], name: str = "ok") -> None:
    cli.json("answer", run["runId"], name, "yes")


def effects(cli: Cli, run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = cli.json("effect", "list", run["runId"])
    return {each["effectId"]: each for each in found}


# Code that changes under a run


TWO = """
await ctx.run("echo one", id="one")
await ctx.breakpoint("Go on?", id="ok")
return "done"
"""


def test_edited_code_parks_the_run_with_the_step_that_differs(cli: Cli) -> None:
    write(cli, TWO)
    run = start(cli, code=NEEDS_PERSON)
    write(cli, TWO.replace("echo one", "echo 1"))
    parked = resume(cli, run, code=NEEDS_PERSON)
    assert parked["status"] == "parked"
    assert "step 'one' differs" in parked["reason"]
    assert "echo one" in parked["reason"]
    assert "echo 1" in parked["reason"]
    (event,) = [e for e in cli.events("run_parked") if "differs" in e["data"]["reason"]]
    assert "ctx.version" in event["data"]["help"]
    write(cli, TWO)
    answer(cli, run)
    assert resume(cli, run)["value"] == "done"


@pytest.mark.parametrize(
    "line",
    [
        'await ctx.run(f"echo {time.time_ns()}", id="stamp")',
        'await ctx.run(f"echo {random.random()}", id="stamp")',
        'await ctx.run(f"echo {uuid.uuid4()}", id="stamp")',
    ],
    ids=["clock", "randomness", "uuid"],
)
def test_direct_use_of_clock_and_randomness_is_found_out(cli: Cli, line: str) -> None:
    write(cli, f'{line}\nawait ctx.breakpoint("?", id="ok")', above="import random, time, uuid")
    run = start(cli, code=NEEDS_PERSON)
    answer(cli, run)
    parked = resume(cli, run, code=NEEDS_PERSON)
    assert "step 'stamp' differs" in parked["reason"]


def test_clock_and_randomness_of_the_context_survive_a_restart(cli: Cli) -> None:
    values = "f'{await ctx.now()} {await ctx.uuid()} {await ctx.random()}'"
    write(
        cli, f'said = {values}\nawait ctx.run("echo " + said)\nawait ctx.breakpoint("?", id="ok")'
    )
    run = start(cli, code=NEEDS_PERSON)
    answer(cli, run)
    assert resume(cli, run)["status"] == "completed"


def test_a_version_lets_old_runs_finish_and_new_ones_do_more(cli: Cli) -> None:
    write(cli, TWO)
    old = start(cli, code=NEEDS_PERSON)
    new_part = 'if await ctx.version("checks"):\n    await ctx.run("echo checked", id="check")\n'
    write(cli, TWO.replace('await ctx.breakpoint("Go', f'{new_part}await ctx.breakpoint("Go'))
    new = start(cli, code=NEEDS_PERSON)
    for run in (old, new):
        answer(cli, run)
        assert resume(cli, run)["value"] == "done"
    assert set(effects(cli, old)) == {"one", "ok"}
    assert set(effects(cli, new)) == {"one", "version:checks", "check", "ok"}


# What a flow can do


def test_chapters_begin_again_with_their_state_and_a_short_journal(cli: Cli) -> None:
    write(
        cli,
        """
state = ctx.state or {"round": 1, "seen": []}
done = await ctx.run(f"echo {state['round']}", id="work")
state = {"round": state["round"] + 1, "seen": [*state["seen"], done["stdout"].strip()]}
if state["round"] <= 4:
    ctx.next(state)
return {"chapter": ctx.chapter, **state}
""",
    )
    run = start(cli)
    assert run["value"] == {"chapter": 4, "round": 5, "seen": ["1", "2", "3", "4"]}
    assert list(effects(cli, run)) == ["work"]
    assert [e["data"]["chapter"] for e in cli.events("run_chapter")] == [2, 3, 4]


def test_errors_of_effects_can_be_caught(cli: Cli) -> None:
    write(
        cli,
        """
try:
    await ctx.parallel(ctx.run("exit 3", id="bad"), ctx.run("echo fine", id="good"), id="both")
except EffectFailed as failed:
    return [failed.effect_id, failed.error]
""",
        above="from hookline import EffectFailed",
    )
    run = start(cli)
    assert run["value"] == ["both/0/bad", "`exit 3` exited 3"]
    assert effects(cli, run)["both/1/good"]["status"] == "ok"


def test_waiting_for_asyncio_parks_the_run_and_names_the_remedy(cli: Cli) -> None:
    write(cli, "await asyncio.sleep(1)", above="import asyncio")
    run = start(cli, code=NEEDS_PERSON)
    assert "which is not an effect" in run["reason"]
    (event,) = cli.events("run_parked")
    assert "ctx.sleep instead of asyncio.sleep" in event["data"]["help"]
    write(cli, "await ctx.sleep(0.01)\nreturn 'slept'")
    assert resume(cli, run)["value"] == "slept"


def test_functions_are_called_in_children(cli: Cli) -> None:
    cli.put("ours.py", "import os\n\n\ndef add(a, b):\n    return [os.getpid(), a + b]\n")
    write(
        cli,
        """
mine = await ctx.call(pid, id="mine")
named = await ctx.call("ours:add", 1, b=2, id="named")
imported = await ctx.call(ours.add, 3, b=4, id="imported")
large = await ctx.call(big, id="big")
return [mine, named, imported, len(large), os.getpid()]
""",
        above="import os\nimport ours\n\n\ndef pid():\n    return os.getpid()\n\n\n"
        "def big():\n    return 'x' * 200_000\n",
    )
    mine, named, imported, large, driver = start(cli)["value"]
    assert (named[1], imported[1], large) == (3, 7, 200_000)
    assert len({mine, named[0], imported[0], driver}) == 4


def test_a_call_that_hangs_is_killed_and_its_error_can_be_caught(cli: Cli) -> None:
    write(
        cli,
        """
try:
    await ctx.call(hang, timeout=1, retries=0)
except EffectFailed as failed:
    return failed.error
""",
        above="import time\nfrom hookline import EffectFailed\n\n\n"
        "def hang():\n    time.sleep(99)\n",
    )
    assert "timed out after 1 s" in start(cli)["value"]


# Where flows are found


def test_a_flow_of_a_module(cli: Cli) -> None:
    cli.put("pkg/ours.py", "async def f(ctx, n=1):\n    return n + 1\n")
    assert start(cli, "pkg.ours:f", "--input", '{"n": 4}')["value"] == 5


def test_a_flow_of_an_installed_plugin(cli: Cli, tmp_path: Path) -> None:
    site = tmp_path / "site"
    info = site / "shipit-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "shipit.py").write_text(
        "def two():\n    return 2\n\n\nasync def ship(ctx):\n    return await ctx.call(two)\n"
    )
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shipit\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hookline.flows]\nship = shipit:ship\n")
    env = {"PYTHONPATH": f"{site}:{cli.env.get('PYTHONPATH', '')}".rstrip(":")}
    assert cli.json("flow", "start", "ship", env=env)["value"] == 2
    assert "ship" in [each["name"] for each in cli.json("flow", "list", env=env)]
    code, error = cli.refused("flow", "start", "ship")
    assert (code, error["code"]) == (1, "unknown-flow")


def test_input_that_a_flow_cannot_take_begins_no_run(cli: Cli) -> None:
    write(cli, "return n", given="n")
    code, error = cli.refused("flow", "start", "x", "--input", '{"m": 1}')
    assert code == USAGE
    assert "cannot take this input" in error["message"]
    assert cli.json("flow", "status") == []


# Steps in YAML


ALL_KINDS = """
agents:
  ada: {driver: command, command: "tr a-z A-Z"}
  bob: {driver: scripted, script: turns.json}
hooks:
  on_error:
    - {command: "echo seen {{error}}", pipe_output: true}
flows:
  all:
    steps:
      - {id: hello, run: "echo hello {{input.who}}"}
      - {id: never, run: "touch never", when: "input.who == 'nobody'"}
      - id: both
        parallel:
          - {id: loud, agent: "{{steps.hello.stdout}}"}
          - {id: told, agent: {agent: bob, prompt: "do {{input.who}}"}}
          - {id: nap, sleep: 10ms}
      - id: asked
        hook: {point: on_error, payload: {session: s, iteration: 1, error: "{{input.who}}"}}
      - {id: made, task: {goal: "help {{input.who}}", labels: [flow]}}
      - {id: other, update_task: {id: "{{input.task}}", action: complete, payload: {result: "yes"}}}
      - {id: ok, breakpoint: "Ship {{steps.loud.text}}?"}
      - {id: nothing, noop: true, when: "steps.ok.answer"}
      - {id: end, run: "echo {{steps.loud.text}} {{steps.told.text}} {{steps.made.taskId}}"}
"""


def test_every_kind_of_step(cli: Cli) -> None:
    turn = {"text": "as told", "expect": "do ada", "run": "touch told"}
    cli.put("turns.json", json.dumps([turn]))
    cli.configure(ALL_KINDS)
    waiting = cli.add("waiting for the flow")
    given = json.dumps({"who": "ada", "task": waiting})
    run = start(cli, "all", "--input", given)
    made = effects(cli, run)["made"]
    assert (made["status"], made["kind"]) == ("pending", "task")
    (task,) = [each for each in cli.json("task", "list") if each["goal"] == "help ada"]
    assert task["labels"] == ["flow"]
    cli.json("task", "complete", task["id"], "--result", "helped")
    resume(cli, run, code=NEEDS_PERSON)
    assert cli.task(waiting)["state"] == "completed"
    answer(cli, run)
    ended = resume(cli, run)
    value = ended["value"]
    assert ended["status"] == "completed"
    steps = "hello never loud told nap both asked made other ok nothing end"
    assert set(value) == set(steps.split())
    assert value["never"] is None
    assert value["made"]["result"] == "helped"
    assert value["end"]["stdout"].split("\n")[0].strip() == "HELLO ADA"
    assert f"as told {task['id']}" in value["end"]["stdout"]
    assert "seen ada" in json.dumps(value["asked"])
    assert (cli.root / "told").exists()
    assert not (cli.root / "never").exists()


def test_input_and_results_never_become_shell_code(cli: Cli) -> None:
    cli.configure(
        """
flows:
  echo:
    steps:
      - {id: one, run: "printf %s {{input.text}}"}
      - {id: two, run: "printf '%s|' \\"<{{steps.one.stdout}}>\\" '{{steps.one.stdout}}'"}
"""
    )
    text = '\'; touch pwned; "$(touch pwned)" `touch pwned` {{input.text}} $HOME \\ \n*'
    run = start(cli, "echo", "--input", json.dumps({"text": text}))
    assert run["value"]["one"]["stdout"] == text
    assert run["value"]["two"]["stdout"] == f"<{text}>|{text}|"
    assert not (cli.root / "pwned").exists()


PINNED = """
flows:
  ship:
    steps:
      - {id: ok, breakpoint: "Ship it?"}
      - {id: work, run: "echo %s"}
"""


def test_a_run_keeps_the_steps_it_began_with(cli: Cli) -> None:
    cli.configure(PINNED % "old")
    old = start(cli, "ship", code=NEEDS_PERSON)
    cli.configure(PINNED % "new" + '      - {id: more, run: "echo more"}\n')
    new = start(cli, "ship", code=NEEDS_PERSON)
    for run in (old, new):
        answer(cli, run)
    ended = [resume(cli, run)["value"] for run in (old, new)]
    assert [each["work"]["stdout"] for each in ended] == ["old\n", "new\n"]
    assert ["more" in each for each in ended] == [False, True]


# What is refused


@pytest.mark.parametrize("name", ["ship", "x"])
def test_flows_of_a_repository_that_nobody_trusts_are_refused(cli: Cli, name: str) -> None:
    cli.configure(PINNED % "old", trust=False)
    cli.put(".hookline/flows/x.py", f"{HEAD.format('')}    return 1\nopen('ran', 'w').close()\n")
    for command in (("flow", "start", name), ("flow", "list"), ("flow", "show", name)):
        code, error = cli.refused(*command)
        assert (code, error["code"]) == (USAGE, "untrusted")
    assert not (cli.root / "ran").exists()
    assert cli.json("flow", "status") == []


def test_a_flow_file_alone_needs_trust_too(cli: Cli) -> None:
    cli.put(".hookline/flows/x.py", f"{HEAD.format('')}    return 1\n")
    code, error = cli.refused("flow", "start", "x")
    assert (code, error["code"]) == (USAGE, "untrusted")
    cli.json("trust", "--yes")
    assert start(cli)["value"] == 1
    cli.put(".hookline/flows/x.py", f"{HEAD.format('')}    return 2\n")
    code, error = cli.refused("flow", "start", "x")
    assert (code, error["code"]) == (USAGE, "untrusted")


def test_a_configuration_with_errors_starts_no_flow(cli: Cli) -> None:
    cli.configure('flows:\n  a: {steps: [{id: a, run: "echo {{steps.b.stdout}}"}]}\n', trust=False)
    code, error = cli.refused("flow", "start", "a")
    assert (code, error["code"]) == (USAGE, "bad-configuration")
    found = cli("check", "--json")
    assert found.code == USAGE
    assert "there is no step 'b' in this flow" in found.stdout


def test_a_flow_whose_code_is_gone_parks_its_run(cli: Cli) -> None:
    write(cli, TWO)
    run = start(cli, code=NEEDS_PERSON)
    (cli.root / ".hookline/flows/x.py").unlink()
    cli.put(".hookline/flows/y.py", f"{HEAD.format('').replace('def x', 'def y')}    return 1\n")
    cli.json("trust", "--yes")
    answer(cli, run)
    parked = resume(cli, run, code=NEEDS_PERSON)
    assert (parked["status"], parked["reason"]) == ("parked", "there is no flow 'x'")
    write(cli, TWO)
    assert resume(cli, run)["value"] == "done"

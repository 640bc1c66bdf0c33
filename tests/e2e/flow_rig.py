"""Runs of a flow with effects of every kind, whose driver and children are killed at random.

The commands leave a trace of their own: which effect, under which key, in which process. A lock
per key shows whether two attempts at one effect ever ran at the same time.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.adapters.store.blobs import FileBlobs
from hookline.app import App
from hookline.domain.runs.model import OK, TERMINAL, EffectResolved, Resolution
from hookline.domain.tasks import task_id
from hookline.flows import journal
from hookline.tasks import verbs
from tests.e2e.conftest import eventually, kill

if TYPE_CHECKING:
    import subprocess

    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.ports.store import Transaction
    from tests.e2e.conftest import Cli

EFFECTS = 32
CONFIGURATION = """\
agents:
  helper: {driver: command, command: "cat > /dev/null; ./trace.sh"}
hooks:
  post_iteration:
    - {name: look, command: "./trace.sh", pipe_output: true}
"""
TRACE = """\
#!/bin/sh
trace="$HOOKLINE_PROJECT/trace"
key=$(echo "$HOOKLINE_IDEMPOTENCY_KEY" | tr '/:#' '___')
exec 9>> "$HOOKLINE_PROJECT/locks/$key"
flock -n 9 || echo "overlap $HOOKLINE_IDEMPOTENCY_KEY $$" >> "$trace"
echo "begin $HOOKLINE_IDEMPOTENCY_KEY $$" >> "$trace"
sleep 0.1
echo "end $HOOKLINE_IDEMPOTENCY_KEY $$" >> "$trace"
echo traced
"""
CALLS = """\
import os


def add(a, b):
    with open("trace", "a") as trace:
        trace.write(f"begin {os.environ['HOOKLINE_IDEMPOTENCY_KEY']} {os.getpid()}\\n")
    return a + b
"""
FLOW = """\
from hookline import flow
from hookline.domain.runs.model import EffectFailed


async def one_turn(ctx, prompt, id):
    try:
        return await ctx.agent(prompt, id=id)
    except EffectFailed as problem:
        return {"failed": problem.error}


@flow
async def called(ctx, number):
    await ctx.parallel(*(ctx.run("./trace.sh", id="deep", retries=30) for _ in range(2)))
    await ctx.breakpoint("And here?", id="here")
    await ctx.run("./trace.sh", id="end", retries=30)
    return number + 1


@flow
async def everything(ctx):
    await ctx.log("begun")
    named = [await ctx.now(), await ctx.uuid(), await ctx.random()]
    await ctx.version("second")
    await ctx.noop(id="ready")
    for n in range(4):
        await ctx.run("./trace.sh", id=f"first{n}", retries=30)
    total = await ctx.call("rig_calls:add", 2, 3, retries=30)
    turn = await one_turn(ctx, "Say something.", id="turn")
    work = [ctx.run("./trace.sh", id="part", retries=30) for _ in range(6)]
    await ctx.parallel(*work, ctx.sleep(0.2, id="beside"))
    await ctx.hook("post_iteration", {"session": "rig", "iteration": 1}, id="fire")
    answer = await ctx.breakpoint("Go on?", id="go")
    await ctx.sleep(0.3, id="nap")
    sent = await ctx.signal("token", id="sent")
    done = await ctx.task("do it", id="doc")
    await ctx.update_task(done["taskId"], "update", {"labels": ["seen"]})
    number = await ctx.flow("called", input={"number": 41}, id="call")
    again = await one_turn(ctx, "Say more.", id="again")
    for n in range(4):
        await ctx.run("./trace.sh", id=f"last{n}", retries=30)
    await ctx.noop(id="over")
    turns = [turn, again]
    told = {"total": total, "answer": answer, "sent": sent, "number": number}
    return {"named": named, "turns": turns, **told}
"""


class FlowRig:
    """One project, one flow, and someone who kills whatever advances it."""

    def __init__(self, cli: Cli, seed: int) -> None:
        self.cli = cli
        self._random = random.Random(seed)
        self.kills: Counter[str] = Counter()
        self.turns: Counter[str] = Counter()
        self._driver: subprocess.Popen[str] | None = None
        cli.put("trace.sh", TRACE, 0o755)
        cli.put("rig_calls.py", CALLS)
        cli.put(".hookline/flows/everything.py", FLOW)
        (cli.root / "locks").mkdir()
        cli.configure(CONFIGURATION)
        self.app = App.open(str(cli.root), environ=cli.env)
        self._blobs = FileBlobs(self.app.project.blobs)

    def close(self) -> None:
        """Let go of the store."""
        self.app.close()

    def torture(self, kills: int) -> list[Run]:
        """Run after run, until so many kills were made and the last run is over."""
        runs = []
        while self.kills.total() < kills:
            run_id = self.begin()
            while not self._is_over(run_id):
                self._live(run_id, self._random.uniform(0.02, 0.35))
                if self.kills.total() < kills:
                    self._kill(run_id)
            runs.append(self.run(run_id))
        self._end_driver()
        return runs

    def begin(self) -> str:
        """A run that waits for a driver; its signal is sent before anything waits for it."""
        run_id = str(self.cli.json("flow", "start", "everything", "--detach", quiet=False)["runId"])
        data = {"name": "token", "value": run_id}
        self.app.change(lambda tx: journal.write(tx, "run_signalled", run_id, data))
        return run_id

    def run(self, run_id: str) -> Run:
        """A run as it stands."""
        with self.app.read() as view:
            return view.runs.find(run_id)

    def effects(self, run_id: str) -> list[JournalEffect]:
        """Every effect of a run."""
        with self.app.read() as view:
            return view.runs.effects(view.runs.find(run_id))

    def drive(self, run_id: str) -> subprocess.Popen[str]:
        """A process that advances the run, alone or with all that are due."""
        commands = (("flow", "resume", run_id), ("work", "--flows", "--once"))
        return self.cli.start(*self._random.choice(commands), "--json")

    def answer(self, run_id: str) -> None:
        """Do what the run waits for, as people and other programs would."""
        for effect in self.effects(run_id):
            if effect.called_run and effect.status == "pending":
                self.answer(effect.called_run)
            with suppress(EffectResolved):
                if effect.status == "pending" and effect.kind == "breakpoint":
                    self.app.change(self._post, run_id, effect.effect_id)
            if effect.status == "pending" and effect.task is not None:
                self.app.change(verbs.complete, task_id(effect.task), result="done")

    def _post(self, tx: Transaction, run_id: str, effect_id: str) -> None:
        result = Resolution(OK, {"answer": True})
        journal.resolve(tx, tx.runs.find(run_id), effect_id, result, self._blobs)

    def _is_over(self, run_id: str) -> bool:
        return self.run(run_id).status in TERMINAL

    def _live(self, run_id: str, seconds: float) -> None:
        """Let the run go on for a while, under a driver of its own."""
        # Most kills are to hit a driver at work, some one that has only just been started.
        at_work = self._random.random() < 0.8
        deadline = time.monotonic() + seconds
        while not self._is_over(run_id):
            if self._driver is None or self._driver.poll() is not None:
                self._end_driver()
                self._driver = self.drive(run_id)
            if at_work and not self._is_driven(run_id):
                deadline = time.monotonic() + seconds
            if time.monotonic() > deadline:
                return
            self.answer(run_id)
            time.sleep(0.02)

    def _is_driven(self, run_id: str) -> bool:
        with self.app.read() as view:
            under_way = [run_id, *view.runs.called_by(run_id)]
            holders = [view.runs.leases.holder(each)[0] or "" for each in under_way]
        return self._driver is not None and any(f":{self._driver.pid}:" in h for h in holders)

    def _end_driver(self) -> None:
        if self._driver is not None:
            _, stderr = self._driver.communicate(timeout=60)
            assert self._driver.returncode in (0, 4, -signal.SIGKILL), stderr
            assert "Traceback" not in stderr, stderr
            self._driver = None

    def _kill(self, run_id: str) -> None:
        victim = self._random.choice(("driver", "child", "both"))
        children = self.children(run_id) if victim != "driver" else []
        if victim == "child" and not children:
            victim = "driver"
        if self._driver is None:
            return
        if victim != "child":
            kill(self._driver)
        for pgid in children:
            with suppress(ProcessLookupError):
                os.killpg(pgid, signal.SIGKILL)
        self.kills[victim] += 1

    def children(self, run_id: str) -> list[int]:
        """The process groups that work on the run."""
        with self.app.read() as view:
            called = view.runs.called_by(run_id)
        effects = [effect for each in (run_id, *called) for effect in self.effects(each)]
        return [json.loads(e.child)["pgid"] for e in effects if e.child]

    # What must hold

    def check(self, run: Run) -> None:
        """Everything was resolved once, under one key, and nothing runs any more."""
        assert run.status == "completed", run
        self._check_resolved(run, EFFECTS)
        effects = self.effects(run.run_id)
        self._check_turns(run, effects)
        self._check_trace(run, effects)
        self._check_called(run)
        assert run.value["total"] == 5
        assert run.value["sent"] == run.run_id
        assert run.value["answer"] == {"answer": True}
        assert run.value["number"] == 42
        eventually(lambda: not orphans(self.cli), "the end of every child")

    def _check_called(self, run: Run) -> None:
        """The flow was called once, and its run is as whole as the one that called it."""
        with self.app.read() as view:
            (called,) = view.runs.called_by(run.run_id)
        begun = [e for e in self.cli.events("run_started") if e["data"]["flow"] == "called"]
        mine = [e["nodeId"] for e in begun if e["data"]["calledBy"]["runId"] == run.run_id]
        assert mine == [called]
        assert self.run(called).status == "completed"
        self._check_resolved(self.run(called), 4)
        self._check_trace(self.run(called), self.effects(called))

    def _check_resolved(self, run: Run, count: int) -> None:
        events = self.cli.json("events", "--all", "--type", "effect_resolved")
        mine = [e["data"]["effectId"] for e in events if e["nodeId"] == run.run_id]
        effects = self.effects(run.run_id)
        assert len(effects) == count
        assert Counter(mine) == Counter(e.effect_id for e in effects)

    def _check_turns(self, run: Run, effects: list[JournalEffect]) -> None:
        turns = [effect for effect in effects if effect.kind == "agent"]
        for effect, seen in zip(turns, run.value["turns"], strict=True):
            if effect.status == "error":  # the agent was killed, and its driver saw it
                assert seen == {"failed": effect.error}
            else:
                assert seen == effect.value
                assert seen.get("interrupted") or seen["text"] == "traced\n"
            self.turns["interrupted" if seen.get("interrupted") else effect.status] += 1

    def _check_trace(self, run: Run, effects: list[JournalEffect]) -> None:
        lines = [line.split() for line in (self.cli.root / "trace").read_text().splitlines()]
        number = run.run_id.removeprefix("R-")
        begun = [key for word, key, _ in lines if word == "begin" and f"-R{number}-" in key]
        ended = {key for word, key, _ in lines if word == "end"}
        assert not [line for line in lines if line[0] == "overlap"]
        keys = {effect.effect_id: f"-R{number}-1-{effect.effect_id}" for effect in effects}
        of_hooks = {k for k in begun if not k.endswith(tuple(keys.values()))}
        for effect in effects:
            mine = {k for k in begun if k.endswith(keys[effect.effect_id])}
            if effect.kind == "hook":  # there is one such effect, and its key is a digest
                mine = of_hooks
            if effect.kind in ("node", "call", "hook"):
                assert len(mine) == 1, (effect.effect_id, mine)
            if effect.kind == "node":
                assert mine <= ended, effect.effect_id
            if effect.kind == "agent":
                assert sum(key in mine for key in begun) <= 1, "a turn was repeated"

    def repeats(self) -> int:
        """How many attempts were repeats of one that was cut short."""
        lines = (self.cli.root / "trace").read_text().splitlines()
        begun = Counter(line.split()[1] for line in lines if line.startswith("begin"))
        return sum(count - 1 for count in begun.values())


def orphans(cli: Cli) -> list[Any]:
    """Processes of effects of this project that still run."""
    marks = f"HOOKLINE_DIR={cli.root / '.hookline'}".encode(), b"HOOKLINE_IDEMPOTENCY_KEY="
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit():
                variables = (entry / "environ").read_bytes()
                if all(mark in variables for mark in marks):
                    found.append(entry.name)
    return found

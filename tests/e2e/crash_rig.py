"""Writers that are killed at random moments, and the proof that nothing was lost or done twice.

Half of the writers are programs of their own (this file, run as a script) that use the library;
the others are commands. What a writer saw committed, it acknowledges in a file of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.app import App
from hookline.domain.projection import LISTS, Fold
from hookline.errors import HooklineError
from hookline.tasks import claims, verbs

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

FINISHED = {"ok", "failed", "skipped", "timeout", "dead"}
ENDED_BY_US = -9

CONFIGURATION = """\
events: [ping]
hooks:
  task_created:
    - {name: follow, python: "rig_hooks:follow", when: "'work' in task.labels"}
    - name: shell
      command: 'sleep 0.05; echo "{\\"actions\\": [$SHELL_ACTION, $SHELL_ACTION]}"'
      when: "'work' in task.labels"
      env: {SHELL_ACTION: '{"type": "create_task", "payload": {"goal": "from the shell"}}'}
  task_completed:
    - {name: lingering, command: "sleep 300 & sleep 0.05"}
    - {name: note, python: "rig_hooks:note"}
  ping:
    - {name: broken, command: "exit 3"}
    - {name: echo, python: "rig_hooks:note"}
"""
HOOKS = """\
def follow(event, context):
    goal = f"after {event.data['goal']}"
    return [
        {"type": "create_task", "payload": {"goal": goal, "parentTaskId": event.node_id}},
        note(event, context)[0],
    ]


def note(event, context):
    return [{"type": "log", "payload": {"type": "noted", "nodeId": event.node_id, "data": {}}}]
"""
BUILT_IN = "track-agent-task-lifecycle"
SUBSCRIBED = {
    "task_created": {"follow", "shell", BUILT_IN},
    "task_started": {BUILT_IN},
    "task_completed": {
        "lingering",
        "note",
        BUILT_IN,
        "auto-create-review-task",
        "check-dependency-satisfaction",
    },
    "ping": {"broken", "echo"},
}
# (hook, the type of event it causes) -> how many of them one successful call causes.
ASKED = {
    ("follow", "task_created"): 1,
    ("follow", "noted"): 1,
    ("shell", "task_created"): 2,
    ("note", "noted"): 1,
    ("echo", "noted"): 1,
}


# What a writer does.


class Writer:
    """A loop of changes; each is acknowledged once the call that made it has returned."""

    def __init__(self, acknowledgements: str, name: str) -> None:
        self._app = App.open()
        self._file = os.open(acknowledgements, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._name = name
        self._count = 0
        self._mine: list[str] = []

    def run(self, stop: str) -> None:
        """Write until a file appears."""
        while not os.path.exists(stop):
            act = random.choice((self._add, self._add, self._complete, self._emit, self._claim))
            try:
                act()
            except HooklineError as refused:
                if refused.code not in ("illegal-transition", "claimed", "nothing-ready"):
                    raise
            if self._app.work_waits():
                asyncio.run(self._app.deliver())
        self._app.close()

    def _mark(self) -> str:
        self._count += 1
        return f"{self._name}.{os.getpid()}.{self._count}"

    def _acknowledge(self, mark: str) -> None:
        os.write(self._file, f"{mark}\n".encode())
        os.fsync(self._file)

    def _add(self) -> None:
        mark = self._mark()
        parents = self._mine[-1:] if random.random() < 0.5 else []
        task = self._app.change(verbs.add, mark, labels=["work"], depends_on=parents)
        self._acknowledge(mark)
        self._mine.append(task.id)

    def _complete(self) -> None:
        if self._mine:
            mark = self._mark()
            self._app.change(verbs.complete, self._mine.pop(0), result=mark)
            self._acknowledge(mark)

    def _emit(self) -> None:
        mark = self._mark()
        self._app.emit("ping", {"mark": mark})
        self._acknowledge(mark)

    def _claim(self) -> None:
        self._app.change(claims.claim_next, self._name)


# Who starts and kills them.


class Rig:
    """So many writers in one project, each replaced as soon as it ends."""

    def __init__(self, cli: Cli, seed: int, writers: int) -> None:
        self._cli = cli
        self._writers = writers
        self._random = random.Random(seed)
        self._folder = cli.root.parent / "rig"
        self._folder.mkdir()
        self._stop = self._folder / "stop"
        self._running: dict[int, subprocess.Popen[str]] = {}
        self._marks: dict[int, str] = {}
        self._count = 0
        self.acknowledged: set[str] = set()
        self.kills = 0
        cli.put("rig_hooks.py", HOOKS)
        cli.configure(CONFIGURATION)
        cli.add("the first", "--label", "work")

    def torture(self, kills: int) -> None:
        """Let them write, and kill one after the other at random moments."""
        while self.kills < kills:
            pause = time.monotonic() + self._random.uniform(0.02, 1.0)
            while time.monotonic() < pause:
                self._replace()
                time.sleep(0.01)
            slot = self._random.choice(list(self._running))
            if self._running[slot].poll() is None:
                self._running[slot].kill()
                self.kills += 1
        self._stop.touch()
        for slot in list(self._running):
            self._collect(slot)
        for path in self._folder.glob("*.ack"):
            # A line that a kill cut short was never acknowledged.
            self.acknowledged.update(path.read_text().split("\n")[:-1])

    def _replace(self) -> None:
        for slot in range(self._writers):
            if slot in self._running and self._running[slot].poll() is not None:
                self._collect(slot)
            if slot not in self._running:
                self._running[slot] = self._start(slot)

    def _start(self, slot: int) -> subprocess.Popen[str]:
        self._count += 1
        if slot % 2:
            acknowledgements = self._folder / f"{slot}.ack"
            program = (__file__, str(acknowledgements), f"w{slot}", str(self._stop))
            return self._open(sys.executable, *program)
        mark = f"c{slot}.{self._count}"
        self._marks[slot] = mark
        words = self._random.choice(
            (
                ("task", "add", mark, "--label", "work"),
                ("emit", "ping", "--data", json.dumps({"mark": mark})),
            )
        )
        return self._open(sys.executable, "-m", "hookline", *words, "--json")

    def _open(self, *argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            argv,
            cwd=self._cli.root,
            env=self._cli.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _collect(self, slot: int) -> None:
        process = self._running.pop(slot)
        stdout, stderr = process.communicate()
        assert process.returncode in (0, ENDED_BY_US), stderr
        assert "Traceback" not in stderr
        # A command that was killed afterwards has told its caller of the change all the same.
        if slot % 2 == 0 and stdout.endswith("\n"):
            self.acknowledged.add(self._marks[slot])


# What must be true afterwards.


class Aftermath:
    """The store after the last command, looked at past Hookline's own code."""

    def __init__(self, cli: Cli) -> None:
        self._cli = cli
        self.events = [
            (seq, kind, node, json.loads(data), json.loads(metadata))
            for seq, kind, node, data, metadata in cli.rows(
                "SELECT seq, type, node_id, data, metadata FROM events ORDER BY seq"
            )
        ]
        self.deliveries = cli.rows("SELECT event_seq, hook, status FROM deliveries")

    def check(self, acknowledged: set[str]) -> None:
        """Everything that must hold."""
        assert [event[0] for event in self.events] == list(range(1, len(self.events) + 1))
        assert self._cli.rows("PRAGMA integrity_check") == [("ok",)]
        self.check_acknowledged(acknowledged)
        self.check_fold()
        self.check_deliveries()
        self.check_actions()
        assert orphans(self._cli.root) == []
        self.check_doctor()

    def check_doctor(self) -> None:
        """Hookline's own examination comes to the same result."""
        checks = {c["name"]: c["status"] for c in self._cli.json("doctor")["checks"]}
        proved = ("store", "log", "tables", "waiting", "pending")
        assert {name: checks[name] for name in proved} == dict.fromkeys(proved, "ok")

    def check_acknowledged(self, acknowledged: set[str]) -> None:
        """No acknowledged change is missing, and no change was made twice."""
        marks = Counter(
            data.get("mark") or data.get("result") or data.get("goal")
            for _, kind, _, data, _ in self.events
            if kind in ("task_created", "task_completed", "ping")
        )
        assert acknowledged - set(marks) == set()
        assert {mark for mark in acknowledged if marks[mark] != 1} == set()

    def check_fold(self) -> None:
        """The log, folded, gives the tables."""
        app = App.open(str(self._cli.root), environ=self._cli.env, read_only=True)
        with app.read() as view:
            fold = Fold().add_all(view.log.stream())
            rows = {f"T-{row['number']}": row for row in view.graph.rows()}
            edges = {(edge.from_id, edge.type, edge.to_id) for edge in view.graph.edges()}
        app.close()
        assert fold.edges == edges
        assert fold.tasks.keys() == rows.keys()
        for identifier, row in rows.items():
            assert row["unmet"] == fold.unmet(identifier)
            assert stored(row) == {**dict.fromkeys(stored(row)), **folded(fold.tasks[identifier])}

    def check_deliveries(self) -> None:
        """Every hook of every event has had its call, and the call is over."""
        calls: dict[int, set[str]] = {}
        for seq, hook, status in self.deliveries:
            assert status in FINISHED, (seq, hook, status)
            calls.setdefault(seq, set()).add(hook)
        for seq, kind, _, _, _ in self.events:
            assert calls.get(seq, set()) == SUBSCRIBED.get(kind, set()), (seq, kind)
        assert self._cli.rows("SELECT * FROM dispatches") == []
        assert self._cli.rows("SELECT * FROM actions WHERE status = 'pending'") == []

    def check_actions(self) -> None:
        """What a successful call asked for took effect once, and nothing else did."""
        caused = Counter(
            (metadata["cause"], metadata["hook"], kind)
            for _, kind, _, _, metadata in self.events
            if "hook" in metadata and (metadata["hook"], kind) in ASKED
        )
        wanted = Counter(
            {
                (seq, hook, kind): number
                for seq, hook, status in self.deliveries
                for (name, kind), number in ASKED.items()
                if name == hook and status == "ok"
            }
        )
        assert caused == wanted

    def summary(self) -> str:
        """What there was to check, in one line."""
        by_status = dict(Counter(status for _, _, status in self.deliveries))
        return f"{len(self.events)} events, calls {by_status}"


def stored(row: dict[str, Any]) -> dict[str, Any]:
    """The columns that the log determines, with lists read and empty ones left out."""
    kept = {k: v for k, v in row.items() if k not in ("number", "rank", "unmet", "lease_until")}
    return {k: (json.loads(v) or None) if k in LISTS else v for k, v in kept.items()}


def folded(columns: dict[str, Any]) -> dict[str, Any]:
    """The same of a task that was folded from the log."""
    return {k: (list(v) or None) if k in LISTS else v for k, v in columns.items()}


def orphans(root: Path) -> list[str]:
    """Processes that a hook of this project left behind; one just killed has a moment to die."""
    deadline = time.monotonic() + 60
    while (found := processes_of(root)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def processes_of(root: Path) -> list[str]:
    """Processes that run under a hook of this project now."""
    wanted = f"HOOKLINE_DIR={root / '.hookline'}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes().split(b"\0")
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            if wanted in environment:
                found.append(f"{folder.name}: {words.decode(errors='replace')}")
    return found


if __name__ == "__main__":
    Writer(sys.argv[1], sys.argv[2]).run(sys.argv[3])

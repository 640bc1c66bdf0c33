"""How the store of version 0.1 beside this file was made: `make_store.py HOOKLINE-0.1 FOLDER`.

HOOKLINE-0.1 is the program of that version, FOLDER one that does not exist yet. Everything was done
through the command line. What is in the store: work of a worker that was killed, a stopped session,
a parked flow, a queued merge, a gate that waits for a person, a dead letter, a claim whose lease
runs, and a run whose process was killed while it held its lease.
"""

from __future__ import annotations

import io
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
from contextlib import closing
from pathlib import Path

ARCHIVE = Path(__file__).parent / "store-0.1.tar.xz"
CONFIGURATION = """\
version: 1
agent: bot
agents: {bot: {driver: command, command: "sh agent.sh"}}
session: {iterations: 5}
hooks:
  task_created:
    - {name: crash, command: "[ -e mended ] || kill -9 $PPID", when: "'crash' in task.labels"}
task_types:
  careful: {hooks: {before_submit: [human]}}
  chore: {hooks: {before_submit: [{name: fine, command: "true"}]}}
flows:
  nap:
    steps:
      - {id: nap, run: "touch napping; while [ ! -e awake ]; do sleep 0.05; done"}
      - {id: last, run: "echo slept"}
"""
# Waits in its turn until somebody lets it go on.
AGENT = """\
cat > /dev/null
touch working
while [ ! -e go-on ]; do sleep 0.05; done
[ "$HOOKLINE_TASK_ID" = T-1 ] && echo done > T-1.txt
echo '<promise>COMPLETE</promise>'
"""
FLOW = """\
from hookline import flow


@flow
async def ship(ctx):
    await ctx.run("echo built", id="build")
    said = await ctx.breakpoint("Ship it?", id="ask")
    return said["answer"]
"""
CHANGED_FLOW = FLOW.replace('echo built", id="build', 'echo other", id="other')


class Maker:
    """The project, and 0.1 to work on it."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program = os.path.abspath(program)
        self.root = folder / "project"
        self.root.mkdir(parents=True)
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {**kept, "HOME": str(folder), "HOOKLINE_HOME": str(folder / "home")}
        self.env |= {"USER": "ada", "GIT_CONFIG_NOSYSTEM": "1"}

    def __call__(self, *args: str) -> int:
        print("$ hookline", *args)
        return subprocess.run((self.program, *args), cwd=self.root, env=self.env).returncode

    def git(self, *args: str) -> None:
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(("git", *who, *args), cwd=self.root, env=self.env, check=True)

    def put(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def cut(self, number: signal.Signals, sign: str, *args: str, after: float = 0) -> None:
        """End a command by a signal once the file `sign` is there, and it had time to go on."""
        print("$ hookline", *args)
        process = subprocess.Popen((self.program, *args), cwd=self.root, env=self.env)
        while not (self.root / sign).exists():
            time.sleep(0.05)
        time.sleep(after)
        while process.poll() is None:
            process.send_signal(number)
            time.sleep(1)


def make(run: Maker) -> None:
    run.put("hookline.yaml", CONFIGURATION)
    run.put("agent.sh", AGENT)
    run.put(".gitignore", "working\nnapping\nawake\ngo-on\nmended\n")
    run.put(".hookline/flows/ship.py", FLOW)
    run.git("init", "--quiet", "--initial-branch", "main")
    run.git("config", "user.name", "ada")
    run.git("config", "user.email", "ada@example.org")
    run("init", "--yes")
    run.git("add", "--all")
    run.git("commit", "--quiet", "--message", "begin")
    run("trust", "--yes")

    # T-1: under way with a worker that is killed.
    run("task", "add", "Night work", "--type", "chore")
    run.cut(signal.SIGKILL, ".hookline/worktrees/T-1/working", "work", "--once")

    # T-2: a stopped session.
    run("task", "add", "Stopped")
    run.cut(signal.SIGINT, "working", "run", "--task", "T-2", "--name", "night")

    # T-3: waits for a person at its gate. T-4: its merge is queued.
    for task, kind in (("T-3", "careful"), ("T-4", "chore")):
        run("task", "add", f"Work of {kind}", "--type", kind)
        run("task", "start", task)
        place = run.root / ".hookline" / "worktrees" / task
        run.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place))
        (place / f"{task}.txt").write_text("done\n")
        run.git("-C", str(place), "add", "--all")
        run.git("-C", str(place), "commit", "--quiet", "--message", f"work on {task}")
        run("submit", task, "--no-merge")

    # T-5: claimed.
    run("task", "add", "Claimed")
    run("task", "claim", "T-5", "--agent", "eve", "--lease", "7d")

    # A flow that was changed under its run, and one whose process is killed.
    run("flow", "start", "ship")
    run.put(".hookline/flows/ship.py", CHANGED_FLOW)
    run("trust", "--yes")
    run("flow", "resume", "R-6")
    run.put(".hookline/flows/ship.py", FLOW)
    run("trust", "--yes")
    run.cut(signal.SIGKILL, "napping", "flow", "start", "nap")

    # T-6: its hook kills whoever calls it, three times.
    run("task", "add", "Dead letter", "--label", "crash")
    for note in ("one", "two", "three"):
        run("emit", note)

    # What the killed ones had started still waits; let it end.
    run.put("awake", "")
    run.put(".hookline/worktrees/T-1/go-on", "")


def pack(run: Maker, to: Path = ARCHIVE) -> None:
    """What a test needs; names stand for the project's folder, the claim's end, the store's id."""
    folder = run.root / ".hookline"
    with closing(sqlite3.connect(folder / "hookline.db")) as store:
        (version,) = store.execute("PRAGMA user_version").fetchone()
        claim = store.execute("SELECT lease_until FROM tasks WHERE number = 5").fetchone()
        (identity,) = store.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchone()
        dump = "\n".join((*store.iterdump(), f"PRAGMA user_version = {version};\n"))
    lease = claim[0] if claim is not None and claim[0] else "@LEASE@"
    for real, shown in ((str(run.root), "@ROOT@"), (lease, "@LEASE@"), (identity, "@STORE@")):
        dump = dump.replace(real, shown)
    export = ("git", "fast-export", "--all")
    repository = subprocess.run(export, cwd=run.root, check=True, capture_output=True).stdout
    (grant,) = (run.root.parent / "home" / "trust").glob("*.json")
    texts = {
        "store.sql": dump.encode(),
        "repository": repository,
        "grant.json": grant.read_bytes().replace(os.fsencode(run.root), b"@ROOT@"),
    }
    for path in (*folder.glob("sessions/*"), *folder.glob("worktrees/*/.hookline/task.md")):
        texts[f"project/{path.relative_to(run.root)}"] = path.read_bytes()
    for path in run.root.glob(".git/worktrees/*/hookline-conflict"):
        texts[f"conflict/{path.parent.name}"] = path.read_bytes()
    with tarfile.open(to, "w:xz") as archive:
        for name, text in texts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))


if __name__ == "__main__":
    maker = Maker(sys.argv[1], Path(sys.argv[2]).absolute())
    make(maker)
    pack(maker)

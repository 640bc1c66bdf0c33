"""How the stores of merges beside this file were made: `make_merges.py HOOKLINE FOLDER VERSION`.

HOOKLINE is a program whose `pipeline/gating.py` has that VERSION, FOLDER one that does not exist
yet. What is in the store: T-1 waits for a person who merges it, T-2 was killed while its agent
resolved a conflict, T-3 while its result was tested, and T-4 while it waited for its turn behind
T-3.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.upgrade.make_store import Maker, pack

TASKS = ("T-1", "T-2", "T-3", "T-4")
# A result is tested in a checkout of its own, three folders below the project.
CONFIGURATION = """\
version: 1
agent: bot
agents: {bot: {driver: command, command: "sh agent.sh"}}
hooks:
  before_submit: []
  before_merge: [{name: seen, command: "touch seen"}]
gates:
  base: main
  merge: @WHO@
  test: "touch ../../../testing; while [ ! -e ../../../awake ]; do sleep 0.05; done"
"""
AGENT = """\
cat > /dev/null
touch working
while [ ! -e go-on ]; do sleep 0.05; done
sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' log
"""
IGNORED = "working\ntesting\nawake\ngo-on\nseen\n"


def archive(version: str) -> Path:
    """Where the store of a version is kept."""
    return Path(__file__).parent / f"merges-{version}.tar.xz"


def make(run: Maker) -> None:
    """All of it, through the command line."""
    run.put("hookline.yaml", CONFIGURATION.replace("@WHO@", "people"))
    run.put("agent.sh", AGENT)
    run.put(".gitignore", IGNORED)
    run.put("log", "")
    run.git("init", "--quiet", "--initial-branch", "main")
    run.git("config", "user.name", "ada")
    run.git("config", "user.email", "ada@example.org")
    run("init", "--yes")
    run.git("add", "--all")
    run.git("commit", "--quiet", "--message", "begin")
    run("trust", "--yes")
    for task in TASKS:
        run("task", "add", f"Work on {task}")
        place = run.root / ".hookline" / "worktrees" / task
        run.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place))
        name = "log" if task == "T-2" else f"{task}.txt"
        (place / name).write_text(f"{task}\n")
        run.git("-C", str(place), "add", "--all")
        run.git("-C", str(place), "commit", "--quiet", "--message", f"work on {task}")
    run("submit", "T-1")

    run.put("hookline.yaml", CONFIGURATION.replace("@WHO@", "hookline"))
    run.put("log", "main\n")  # against which T-2 does not fit
    run.git("add", "--all")
    run.git("commit", "--quiet", "--message", "let Hookline merge")
    run("trust", "--yes")
    worktrees = ".hookline/worktrees"
    run.cut(signal.SIGKILL, f"{worktrees}/T-2/working", "submit", "T-2")
    run.cut(signal.SIGKILL, "testing", "submit", "T-3")
    run.cut(signal.SIGKILL, f"{worktrees}/T-4/seen", "submit", "T-4", after=3)
    # What the killed ones had started still waits; let it end.
    for name in ("awake", f"{worktrees}/T-2/go-on"):
        run.put(name, "")


if __name__ == "__main__":
    maker = Maker(sys.argv[1], Path(sys.argv[2]).absolute())
    make(maker)
    pack(maker, archive(sys.argv[3]))

"""How `approval-0.1.tar.xz` was made: `make_approval.py HOOKLINE-0.1 FOLDER`.

HOOKLINE-0.1 is the program of that version, FOLDER one that does not exist yet. What is in the
store: T-1 and T-2, whose merges wait for a person.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.upgrade.make_store import Maker, pack

ARCHIVE = Path(__file__).parent / "approval-0.1.tar.xz"
TASKS = ("T-1", "T-2")
CONFIGURATION = """\
version: 1
agent: bot
agents: {bot: {driver: command, command: "cat > /dev/null"}}
hooks:
  before_submit: []
task_types:
  careful: {hooks: {before_submit: [], before_merge: [human]}}
"""


def make(run: Maker) -> None:
    """All of it, through the command line."""
    run.put("hookline.yaml", CONFIGURATION)
    run.git("init", "--quiet", "--initial-branch", "main")
    run.git("config", "user.name", "ada")
    run.git("config", "user.email", "ada@example.org")
    run("init", "--yes")
    run.git("add", "--all")
    run.git("commit", "--quiet", "--message", "begin")
    run("trust", "--yes")
    for task in TASKS:
        run("task", "add", f"Work on {task}", "--type", "careful")
        run("task", "start", task)
        place = run.root / ".hookline" / "worktrees" / task
        run.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place))
        (place / f"{task}.txt").write_text("done\n")
        run.git("-C", str(place), "add", "--all")
        run.git("-C", str(place), "commit", "--quiet", "--message", f"work on {task}")
        run("submit", task)


if __name__ == "__main__":
    maker = Maker(sys.argv[1], Path(sys.argv[2]).absolute())
    make(maker)
    pack(maker, ARCHIVE)

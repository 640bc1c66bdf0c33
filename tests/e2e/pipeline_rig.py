"""A project whose tasks all edit one file, an agent that resolves conflicts, and what must hold.

The project's test holds a log of parts against the parts themselves: a merge that loses a side of
a conflict, keeps its marks, or brings work in twice does not pass it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from tests.e2e.conftest import Result, eventually
from tests.e2e.crash_rig import processes_of
from tests.e2e.gate_rig import Repo

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

CHECK = """\
listed=$(sort log)
[ "$(ls parts | sort)" = "$listed" ] && exit
echo "FAILED: the log lists" $listed
exit 1
"""
MAKEFILE = "test:\n\t@sh check.sh\n"
# Whoever has to wait for the lock of a task meets another agent that works on it. What the agent
# finds at its first turn is kept: its commit, and where the base stood at that moment.
AGENT = """\
here=$(dirname "$0")
box="$here/$HOOKLINE_TASK_ID"
mkdir -p "$box"
exec 9>> "$here/$HOOKLINE_TASK_ID.lock"
flock -w 0.2 9 || echo "$HOOKLINE_TASK_ID: $$ meets another" >> "$here/overlaps"
n=$(($(ls "$box" | wc -l) + 1))
cat > "$here/$$.part"
mv "$here/$$.part" "$box/$n"
pwd >> "$here/$HOOKLINE_TASK_ID.places"
main=$(git --git-dir="@MAIN@" rev-parse refs/heads/main)
[ -e "$box.began" ] || echo "$(git rev-parse HEAD) $main" > "$box.began"
if [ -e "$here/together" ]; then
  until [ "$(ls "$here" | grep -c began)" -ge "$(cat "$here/together")" ]; do sleep 0.02; done
fi

work() {
  [ -e "parts/$HOOKLINE_TASK_ID" ] && return
  echo "$HOOKLINE_TASK_ID" >> log
  echo "by $HOOKLINE_AGENT" > "parts/$HOOKLINE_TASK_ID"
}

resolve() {
  [ -e "$here/slow" ] && sleep 0.3
  sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' log
}

rebase() {
  onto=$(git rev-parse MERGE_HEAD)
  git merge --abort
  git rebase --quiet "$onto" > /dev/null 2>&1
  [ -e "$here/slow" ] && sleep 0.3
  for _ in 1 2 3 4 5 6 7 8; do
    [ -d "$(git rev-parse --git-path rebase-merge)" ] || return 0
    sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' log
    git add --all
    GIT_EDITOR=true git rebase --continue > /dev/null 2>&1
  done
}

if [ -f "$here/turn" ]; then . "$here/turn"
elif grep -q 'git rebase --abort' "$box/$n"; then git rebase --abort
elif grep -q 'Leave no marker line' "$box/$n"; then resolve
else work
fi
echo '<promise>COMPLETE</promise>'
"""
FULL = "hooks: {before_submit: [rebase_on_main, run_tests, create_pr]}\n"


class Pipeline(Repo):
    """The project, with a bare remote or without any, and its agent, `bot`."""

    def __init__(self, cli: Cli) -> None:
        super().__init__(cli)
        self.box = cli.root.parent / "agent"
        self.box.mkdir()
        self.has_remote = True

    @property
    def profile(self) -> str:
        """The agent as it stands in the configuration."""
        return f"{{driver: command, command: 'sh {self.box}/agent.sh'}}"

    def begin(
        self, configuration: str = FULL, *, remote: bool = True, agents: str | None = None
    ) -> None:
        """A first commit with the test and its subject, the agent, and all of it trusted."""
        self.cli.put("check.sh", CHECK)
        self.cli.put("Makefile", MAKEFILE)
        self.cli.put("log", "")
        self.cli.put("parts/.keep", "")
        agents = f"agents: {{bot: {self.profile}}}\n" if agents is None else agents
        super().begin(configuration + agents)
        (self.box / "agent.sh").write_text(AGENT.replace("@MAIN@", str(self.main)))
        if not remote:
            self.leave_remote()

    def leave_remote(self) -> None:
        """From now on main is where the project is."""
        self.git("remote", "remove", "origin")
        shutil.rmtree(self.remote)
        self.has_remote = False
        (self.box / "agent.sh").write_text(AGENT.replace("@MAIN@", str(self.main)))

    def turn(self, script: str) -> None:
        """What the agent does from now on; `n` is its turn on the task, `work` and `resolve`
        are what it would have done, `rebase` resolves a conflict with git."""
        (self.box / "turn").write_text(script)

    def together(self, number: int) -> None:
        """No agent goes on with its first turn before so many tasks were begun."""
        (self.box / "together").write_text(str(number))

    @property
    def main(self) -> Path:
        """The repository whose main counts."""
        return self.remote if self.has_remote else self.cli.root / ".git"

    def place(self, task: str) -> Path:
        """The worktree of a task."""
        return self.cli.root / ".hookline" / "worktrees" / task

    def by_hand(self, task: str, base: str = "main", *, text: str | None = None) -> Path:
        """A worktree in which a person has done the task, from where the base stands."""
        place = self.place(task)
        self.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place), base)
        with (place / "log").open("a") as log:
            log.write(text or f"{task}\n")
        (place / "parts" / task).write_text("by hand\n")
        self.commit(f"part {task}", at=place)
        return place

    def push_aside(
        self, name: str, *, conflicting: bool = True, meanwhile: Path | None = None
    ) -> str:
        """Somebody else's commit on main, in the way of every task, and its id.

        With `meanwhile` it is pushed when that script is run for the first time.
        """
        elsewhere = self.cli.root.parent / f"clone-{name}"
        self.git("clone", "--quiet", str(self.main), str(elsewhere))
        if conflicting:
            with (elsewhere / "log").open("a") as log:
                log.write(f"{name}\n")
            (elsewhere / "parts" / name).write_text("by somebody else\n")
        else:
            (elsewhere / name).write_text("by somebody else\n")
        self.commit(f"part {name}", at=elsewhere)
        if meanwhile is None:
            self.git("push", "--quiet", "origin", "main", at=elsewhere)
        else:
            meanwhile.write_text(f"cd {elsewhere} && git push --quiet origin main\n")
        return self.git("rev-parse", "HEAD", at=elsewhere)

    # What is to be seen

    def worker(self, *options: str, code: int = 0) -> dict[str, Any]:
        """How a worker ended once nothing was left to do."""
        return work_ended(self.cli("work", "--once", "--json", *options), code)

    def prompts(self, task: str) -> list[str]:
        """What the agent was asked about a task, turn by turn."""
        found = sorted((self.box / task).iterdir(), key=lambda path: int(path.name))
        return [path.read_text() for path in found]

    def places(self, task: str) -> set[str]:
        """Where the agent worked on a task."""
        return set((self.box / f"{task}.places").read_text().split())

    def pulls(self) -> list[dict[str, Any]]:
        """Every pull request."""
        if "HOOKLINE_STORE" in self.cli.env:
            rows = self.cli.rows("SELECT record FROM pull_requests ORDER BY number")
            return [json.loads(record) for (record,) in rows]
        folder = self.cli.root / ".hookline" / "pulls"
        return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]

    def verdicts(self, task: str, point: str = "before_submit") -> list[tuple[str, str]]:
        """What the gates of a point said about a task, in order."""
        found = self.cli.json("gate", "list", task)
        return [(each["hook"], each["status"]) for each in found if each["point"] == point]

    def merges(self) -> list[str]:
        """The tasks that were merged into main, the oldest first."""
        marked = "--format=%(trailers:key=Task,valueonly,separator=%x2C)"
        said = self.git("log", "--first-parent", "--reverse", marked, "main", at=self.main)
        return [line for line in said.splitlines() if line]

    def parts(self, commit: str = "main", at: Path | None = None) -> set[str]:
        """The parts that a commit holds, where main counts or at another place."""
        said = self.git("ls-tree", "--name-only", commit, "parts/", at=at or self.main)
        return {name.removeprefix("parts/") for name in said.splitlines()} - {".keep"}

    # What must hold

    def check_main(self, since: str = "") -> str:
        """The test passes at every commit that main has had, or has had since one; the last one."""
        copy = self.cli.root.parent / "copy"
        self.git("clone", "--quiet", "--branch", "main", str(self.main), str(copy))
        wanted = f"{since}..main" if since else "main"
        for commit in self.git("rev-list", "--first-parent", wanted, at=copy).split():
            self.git("checkout", "--quiet", "--force", "--detach", commit, at=copy)
            done = subprocess.run(("make", "test"), cwd=copy, capture_output=True, text=True)
            assert done.returncode == 0, (commit, done.stdout, self.git("log", "--graph", at=copy))
        last = self.git("rev-parse", "main", at=copy)
        shutil.rmtree(copy)
        return last

    def check_order(self, task: str, *dependencies: str) -> None:
        """What a task depends on was there when its agent began, and only what was merged."""
        began, main = (self.box / f"{task}.began").read_text().split()
        assert set(dependencies) <= self.parts(began), task
        self.git("merge-base", "--is-ancestor", began, main, at=self.main)

    def check_quiet(self) -> None:
        """Nobody worked beside another, nobody works any more, and the store is consistent."""
        assert not (self.box / "overlaps").exists(), (self.box / "overlaps").read_text()
        eventually(lambda: not processes_of(self.cli.root), "the end of every child")
        checks = self.cli("doctor", "--json").json["checks"]
        assert [each for each in checks if each["status"] == "failed"] == []
        assert list(self.cli.root.glob(".hookline/worktrees/.scratch-*")) == []


def keepers(line: Pipeline, **says: str) -> str:
    """The agents of a project: `bot`, who works, and those whose answer a shell line prints."""
    lines = {"bot": f"sh {line.box}/agent.sh"}
    lines |= {name: f"cat > /dev/null; {answer}" for name, answer in says.items()}
    profiles = {
        name.replace("_", "-"): {"driver": "command", "command": command}
        for name, command in lines.items()
    }
    return f"agents: {json.dumps(profiles)}\nagent: bot\n"


def finish(process: subprocess.Popen[str], seconds: float) -> Result:
    """The end of a command that was started beside the test."""
    stdout, stderr = process.communicate(timeout=seconds)
    assert "Traceback" not in stderr, stderr
    return Result(process.returncode, stdout, stderr)


def work_ended(result: Result, code: int = 0) -> dict[str, Any]:
    """How a worker ended, by the last line of its output."""
    assert result.code == code, (result.code, result.stdout, result.stderr)
    last = json.loads(result.stdout.splitlines()[-1])
    assert last["type"] == "work_ended", last
    data: dict[str, Any] = last["data"]
    return data

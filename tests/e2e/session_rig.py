"""Sessions with an agent that keeps every prompt it gets and does what each turn's script says."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.e2e import tool_client
from tests.e2e.conftest import PROGRAM, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.e2e.conftest import Cli

HOOKLINE = shlex.join(PROGRAM)
# What an agent's script asks a person to type, and the person, whose process no agent started.
ASK = """\
for word in "$@"; do printf "'%s' " "$word"; done > {box}/part
mv {box}/part {box}/order
until [ -e {box}/done ]; do sleep 0.01; done
rm {box}/done
"""
PERSON = """\
while :; do
  if [ -e {box}/order ]; then mv {box}/order {box}/doing; sh {box}/doing; touch {box}/done
  else sleep 0.01; fi
done
"""
PROMISE = "echo '<promise>COMPLETE</promise>'"
# The prompt is kept under the run's id and the turn's number, all at once; then the script of the
# turn speaks.
AGENT = """\
here=$(dirname "$0")
box="$here/$HOOKLINE_RUN_ID"
mkdir -p "$box"
n=$(($(ls "$box" | wc -l) + 1))
cat > "$here/part.$$"
mv "$here/part.$$" "$box/$(printf %03d $n)-$HOOKLINE_ITERATION"
if [ -f "$here/turn-$n" ]; then . "$here/turn-$n"; else . "$here/rest"; fi
"""


@contextmanager
def a_person(cli: Cli) -> Iterator[str]:
    """What stands before a command in an agent's script for a person to type it meanwhile."""
    box = cli.root.parent / "person"
    box.mkdir()
    (box / "ask").write_text(ASK.format(box=box))
    person = subprocess.Popen(("sh", "-c", PERSON.format(box=box)), cwd=cli.root, env=cli.env)
    yield f"sh {box}/ask"
    person.kill()
    person.wait()


class Prompt(NamedTuple):
    """What the agent got in one turn."""

    iteration: int
    text: str


class Ended(NamedTuple):
    """How `hookline run` ended: its exit code, its last line, and all it said on stderr."""

    code: int
    data: dict[str, Any]
    stderr: str

    @property
    def said(self) -> tuple[int, str, str]:
        """Exit code, outcome and reason."""
        return self.code, self.data["outcome"], self.data["reason"]


class Rig:
    """A project with one agent, `bot`, whose turns are shell scripts."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.box = cli.root.parent / "agent"
        self.box.mkdir()
        self.trace_file = cli.root.parent / "trace"
        (self.box / "agent.sh").write_text(AGENT)
        self.turns()

    @property
    def bot(self) -> dict[str, Any]:
        """The profile of its agent."""
        return {"driver": "command", "command": f"sh {self.box}/agent.sh"}

    @property
    def free_bot(self) -> dict[str, Any]:
        """The same of one that costs nothing, so that a limit on money holds."""
        return {**self.bot, "prices": {"input": 0, "output": 0}}

    def configure(
        self,
        hooks: dict[str, list[Any]] | None = None,
        *,
        agents: dict[str, Any] | None = None,
        **sections: Any,
    ) -> None:
        """Write hookline.yaml; JSON is YAML."""
        everything = {
            "agents": {"bot": self.bot, **(agents or {})},
            "hooks": hooks or {},
            **sections,
        }
        self.cli.configure("".join(f"{k}: {json.dumps(v)}\n" for k, v in everything.items()))

    def turns(self, *scripts: str, rest: str = "echo working $n") -> None:
        """What the agent does in its turns, in order, and in all that follow."""
        for number, script in enumerate(scripts, 1):
            (self.box / f"turn-{number}").write_text(f"{script}\n")
        (self.box / "rest").write_text(f"{rest}\n")

    def scripted(self, *turns: dict[str, Any]) -> dict[str, Any]:
        """A profile of a scripted agent, for what no program can report: usage and waits."""
        self.cli.put("turns.json", json.dumps(turns))
        return {"driver": "scripted", "script": "turns.json"}

    def repository(self) -> None:
        """Make the project a repository with a first commit of all that is there."""
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "begin")

    def git(self, *args: str) -> str:
        """Run git in the project."""
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(
            ("git", *who, *args), cwd=self.cli.root, check=True, capture_output=True, text=True
        )
        return done.stdout

    def run(
        self, *options: str, goal: str = "do it", iterations: int = 2, name: str = "s"
    ) -> Ended:
        """A session from its start to its end."""
        return ended(self.cli(*self.arguments(*options, goal=goal, n=iterations, name=name)))

    def resume(self, *options: str, name: str = "s") -> Ended:
        """Go on with a session."""
        return ended(self.cli("run", "--resume", "--name", name, *options, "--json"))

    def start(
        self, *options: str, goal: str = "do it", iterations: int = 2, name: str = "s"
    ) -> subprocess.Popen[str]:
        """A session that goes on beside the test."""
        return self.cli.start(*self.arguments(*options, goal=goal, n=iterations, name=name))

    @staticmethod
    def arguments(*options: str, goal: str, n: int, name: str) -> Sequence[str]:
        """The words of `hookline run`."""
        agent = () if "--agent" in options else ("--agent", "bot")
        return ("run", goal, "--name", name, "--iterations", str(n), *agent, *options, "--json")

    def prompts(self, run: str = "R-1") -> list[Prompt]:
        """Every prompt that the agent got in a run, in order."""
        box = self.box / run
        names = sorted(path.name for path in box.iterdir()) if box.exists() else []
        return [
            Prompt(int(name.partition("-")[2]), (box / name).read_text(encoding="utf-8"))
            for name in names
        ]

    def note(self, words: str) -> str:
        """A shell line that leaves a line in the trace."""
        return f"echo {words} >> {self.trace_file}"

    def call_tools(self, *calls: tuple[str, dict[str, Any]]) -> str:
        """A shell line in which the agent calls tools; the trace says how each was answered."""
        wanted = self.file("calls.json")
        wanted.write_text(json.dumps(calls), encoding="utf-8")
        client = shlex.join((sys.executable, tool_client.__file__, str(wanted)))
        return f"{client} >> {self.trace_file}"

    @property
    def trace(self) -> list[str]:
        """The lines that hooks and turns left, in order."""
        return self.trace_file.read_text().splitlines() if self.trace_file.exists() else []

    def file(self, name: str) -> Path:
        """A file beside the project, where nobody takes it for the agent's work."""
        return self.cli.root.parent / name

    @staticmethod
    def complete_child(goal: str) -> str:
        """A script in which the agent adds a task below its own and completes it."""
        add = f'{HOOKLINE} task add {shlex.quote(goal)} --parent "$HOOKLINE_TASK_ID" --json'
        done = "import json, sys; print(json.load(sys.stdin)['id'])"
        return f'id=$({add} | python3 -c "{done}"); {HOOKLINE} task complete "$id"'

    def data(self, *types: str) -> list[dict[str, Any]]:
        """The data of the events of these types."""
        return [event["data"] for event in self.cli.events(*types)]


def hook(command: str, **more: Any) -> dict[str, Any]:
    """A command hook whose output is piped to the agent."""
    return {"command": command, "pipe_output": True, **more}


def ended(result: Result) -> Ended:
    """How a session ended, by the last line of its output."""
    assert result.stdout, result.stderr
    last = json.loads(result.stdout.splitlines()[-1])
    assert last["type"] == "session_ended", (last, result.stderr)
    return Ended(result.code, last["data"], result.stderr)


def finished(process: subprocess.Popen[str]) -> Ended:
    """The end of a session that was started beside the test."""
    stdout, stderr = process.communicate(timeout=60)
    assert "Traceback" not in stderr, stderr
    return ended(Result(process.returncode, stdout, stderr))


def in_order(text: str, *parts: str) -> bool:
    """Whether a text holds these parts, each once, one after the other."""
    places = [text.find(part) for part in parts]
    return places == sorted(places) and all(text.count(part) == 1 for part in parts)

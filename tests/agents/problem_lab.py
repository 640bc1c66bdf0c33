"""What becomes of sessions whose agent cannot work, or has to wait, with the real agents.

The tests run the agents that are installed and compare the table in docs/agents.md, which has all
of them:

    python -m tests.agents.problem_lab FOLDER [AGENT...]

FOLDER holds the programs of those that the tests do not install (npm install --prefix FOLDER ...),
and FOLDER/old a version of each agent that is too old (OLD below).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.agents import problems
from tests.agents.model import Call, Reply, ScriptedModel
from tests.e2e.conftest import Cli

if TYPE_CHECKING:
    from tests.e2e.conftest import Result

DONE = Reply(text="It is done.\n<promise>COMPLETE</promise>")
GO_ON = Reply(text="More to do.\n<promise>CONTINUE</promise>")
NO_LOGIN, NO_NETWORK = "not logged in", "connection refused"
NOT_INSTALLED, GONE, TOO_OLD = "not installed", "program gone after an iteration", "too old"
NO_SANDBOX = "sandbox broken"
# Nothing is sent to a model; only Codex has a sandbox of its own that Hookline relies on.
UNSENT = (NOT_INSTALLED, GONE, TOO_OLD, NO_SANDBOX)
PERMANENT = (NO_LOGIN, problems.KEY, problems.CREDIT, problems.MODEL)
TRANSIENT = (
    *(problems.USED_UP, problems.RATE, problems.RATE_UNTIL, problems.BROKEN, problems.BUSY),
    NO_NETWORK,
)
# The newest that Hookline is known not to work with.
OLD = (
    *("@anthropic-ai/claude-code@1.0.89", "@openai/codex@0.36.0", "opencode-ai@1.1.31"),
    *("@google/gemini-cli@0.29.0", "@github/copilot@0.0.383", "@qwen-code/qwen-code@0.5.2"),
)
# In a container that forbids namespaces, this is what Codex's sandbox meets.
NO_NAMESPACES = '#!/bin/sh\necho 0 > /proc/sys/user/max_user_namespaces\nexec "$@"\n'
PATIENCE = 900.0
Environment = Callable[[ScriptedModel, Path], dict[str, str]]


class LabAgent(NamedTuple):
    """A real agent: its driver and program, its environment, and what its login consists of."""

    driver: str
    program: str
    arguments: str
    environment: Environment
    login: tuple[str, ...]
    subscription: tuple[tuple[str, str], ...] = ()

    def profile(self, program: str, *, sandbox: bool = False) -> dict[str, Any]:
        """Its profile in hookline.yaml; most containers do not allow Codex's sandbox."""
        full = {"permissions": "full"} if self.driver == "codex" and not sandbox else {}
        return {"driver": self.driver, "command": f"{program} {self.arguments}".strip(), **full}


AGENTS = {
    "Claude Code": LabAgent(
        "claude-code",
        "claude",
        "",
        ScriptedModel.claude_env,
        ("ANTHROPIC_API_KEY",),
        (("ANTHROPIC_API_KEY", ""), ("CLAUDE_CODE_OAUTH_TOKEN", "of-nobody")),
    ),
    "Codex": LabAgent("codex", "codex", "", ScriptedModel.codex_home, ("MODEL_KEY",)),
    "OpenCode": LabAgent(
        "acp", "opencode", "acp", ScriptedModel.opencode_env, ("OPENCODE_CONFIG",)
    ),
    "Gemini CLI": LabAgent(
        "acp",
        "gemini",
        "--acp -m gemini-2.5-flash",
        ScriptedModel.gemini_env,
        ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    ),
    "Copilot CLI": LabAgent(
        "acp",
        "copilot",
        "--acp",
        ScriptedModel.copilot_env,
        ("COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", "COPILOT_OFFLINE"),
    ),
    "Qwen Code": LabAgent(
        "acp", "qwen", "--acp", ScriptedModel.qwen_env, ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    ),
}


class Outcome(NamedTuple):
    """What became of a session: how it ended, what was printed, and what it used."""

    code: int
    printed: str
    ended: dict[str, Any]
    turns: int
    iterations: int
    errors: int
    waited: str
    shown: str
    seconds: float
    attention: list[dict[str, str]]

    @property
    def problem(self) -> dict[str, str]:
        """Why the agent could not work."""
        found: dict[str, str] = self.ended.get("problem", {})
        return found


class Lab:
    """A project with one agent, `it`, and whatever goes wrong with its model."""

    def __init__(self, folder: Path, agent: LabAgent, program: str, old: str = "") -> None:
        self.cli = Cli(folder)
        self.agent, self.program, self.old = agent, program, old
        self._home = folder / "agent-home"
        self._base = dict(self.cli.env)
        subprocess.run(("git", "init", "-q", str(self.cli.root)), check=True)
        # What its model says is the whole of its work: a promise counts without a change.
        noted = {"name": "noted", "command": f"echo x >> {folder}/errors"}
        self.link = folder / "bin" / agent.program
        self.link.parent.mkdir()
        gone = {"name": "gone", "command": f"rm -f {self.link}"}
        self._hooks = {"on_error": [noted], "stop": ["default"], "post_iteration": [gone]}
        self._errors = folder / "errors"
        self.use(program)

    def use(self, program: str, *, sandbox: bool = False) -> None:
        """Write hookline.yaml, with this program for the agent; JSON is YAML."""
        sections = {
            "agents": {"it": self.agent.profile(program, sandbox=sandbox)},
            "hooks": self._hooks,
            "session": {"iterations": 3, "model_wait": 1},
        }
        self.cli.configure("".join(f"{k}: {json.dumps(v)}\n" for k, v in sections.items()))

    def break_program(self, problem: str) -> None:
        """Let the agent's program be missing, go away, be too old or have no sandbox."""
        if problem == GONE:
            self.link.symlink_to(self.program)
        starter = self.cli.put("../starter", NO_NAMESPACES, 0o755).resolve()
        broken = {
            NOT_INSTALLED: str(self.link),
            GONE: str(self.link),
            TOO_OLD: self.old,
            NO_SANDBOX: f"unshare -Ur {starter} {self.program}",
        }
        self.use(broken[problem], sandbox=problem == NO_SANDBOX)

    def sit_down(self, model: ScriptedModel, *, without: tuple[str, ...] = ()) -> None:
        """Give the agent its environment, with a model that it can reach or not."""
        found = self.agent.environment(model, self._home)
        self.cli.env = {**self._base, **found}
        for name in without:
            self.cli.env.pop(name)

    def run(self, then: Callable[[], Any] | None = None) -> Outcome:
        """A session to its end; when it waits for its model, `then` repairs that."""
        began = time.monotonic()
        shown = waited = ""
        missed = 0
        process = self.cli.start("run", "do it", "--name", "s", "--json")
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            record = json.loads(line)
            if record["type"] == "session_waits" and then is not None:
                waited = record["data"]["reason"]
                process.send_signal(signal.SIGSTOP)  # it waits for seconds: no longer than we look
                shown = self.cli("session", "show", "s").stdout
                if "(until 20" in shown:
                    then()
                    then = None
                else:  # on a busy machine it was over before we looked: the next one is longer
                    missed += 1
                process.send_signal(signal.SIGCONT)
        _, stderr = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in stderr, stderr
        data = json.loads(lines[-1])["data"] if lines else _refusal(stderr)
        return Outcome(
            code=process.returncode,
            printed=data.get("message", ""),
            ended=data,
            turns=self.cli.json("task", "show", "T-1")["cost"]["turns"] - missed if lines else 0,
            iterations=data["iterations"],
            errors=len(self._errors.read_text().splitlines()) if self._errors.exists() else 0,
            waited=waited,
            shown=shown,
            seconds=time.monotonic() - began,
            attention=self.cli("attention", "--json").json,
        )


def _refusal(stderr: str) -> dict[str, Any]:
    """What was said about a session that was not started."""
    error = json.loads(stderr)["error"]
    return {"message": f"{error['message']}. {error['help']}.", "iterations": 0}


def permanent(lab: Lab, problem: str) -> tuple[Outcome, Result | None]:
    """A session that meets a problem, and how it goes on once that is repaired.

    Where the agent does not tell it from a model that is overloaded, the session waits instead.
    """
    with ScriptedModel([DONE if problem == NO_LOGIN else Reply(problem=problem)]) as model:
        lab.sit_down(model, without=lab.agent.login if problem == NO_LOGIN else ())
        found = lab.run(lambda: model.change(DONE))
        if found.waited:
            return found, None
        model.change(DONE)
        lab.sit_down(model)
        return found, lab.cli("run", "--resume", "--name", "s", "--json")


def unsent(lab: Lab, problem: str) -> tuple[Outcome, Result]:
    """A session whose agent's program cannot work, and how it goes on once that is repaired."""
    tried = Reply(calls=(Call("exec_command", {"cmd": "echo x"}),))
    first = {GONE: GO_ON, NO_SANDBOX: tried}.get(problem, DONE)
    with ScriptedModel([first, DONE]) as model:
        lab.break_program(problem)
        lab.sit_down(model)
        found = lab.run()
        model.change(DONE)
        lab.use(lab.program)
        again = ("run", "do it") if problem == NOT_INSTALLED else ("run", "--resume", "--name", "s")
        return found, lab.cli(*again, "--json")


def transient(lab: Lab, problem: str) -> Outcome:
    """A session whose model comes back once the session waits for it."""
    if problem == NO_NETWORK:
        with ScriptedModel([DONE]) as gone:
            lab.sit_down(gone)
        with ExitStack() as models:
            return lab.run(lambda: models.enter_context(ScriptedModel([DONE], gone.port)))
    headers = {
        problems.RATE_UNTIL: (("retry-after", "7"),),
        problems.USED_UP: problems.used_up(int(time.time()) + 20),
    }.get(problem, ())
    name = problems.RATE if problem == problems.RATE_UNTIL else problem
    with ScriptedModel([Reply(problem=name, headers=headers)]) as model:
        lab.sit_down(model)
        if problem == problems.USED_UP:
            lab.cli.env |= dict(lab.agent.subscription)
        return lab.run(lambda: model.change(DONE))


# The table


LABELS = {problems.RATE_UNTIL: "429 with `retry-after: 7`"}
HEAD = """
| problem | what Hookline says | exit code | turns | iterations | seconds |
| --- | --- | --- | --- | --- | --- |"""


def installed(agent: LabAgent, *folders: Path) -> str:
    """The program of an agent, in the first of these folders of npm that has it."""
    places = (f"{folder}/node_modules/.bin" for folder in folders)
    found = shutil.which(agent.program, path=os.pathsep.join(places))
    if found is None:
        raise SystemExit(f"{agent.program} is not installed in {folders[-1]}")
    return found


def main(folder: str, *names: str) -> None:
    """Print a table for each agent, with a row for each problem."""
    own = Path(__file__).parents[2] / ".agents"
    for name in names or AGENTS:
        agent = AGENTS[name]
        program, old = installed(agent, own, Path(folder)), installed(agent, Path(folder, "old"))
        print(f"\n#### {name} {version(program)}\n{HEAD}", flush=True)
        for problem in (*UNSENT, *PERMANENT, *TRANSIENT):
            if problem == NO_SANDBOX and agent.driver != "codex":
                continue
            with TemporaryDirectory(prefix="hookline-lab-", ignore_cleanup_errors=True) as place:
                print(_row(problem, Lab(Path(place), agent, program, old)), flush=True)


def _row(problem: str, lab: Lab) -> str:
    again: Result | None = None
    if problem in TRANSIENT:
        found = transient(lab, problem)
    else:
        found, again = (unsent if problem in UNSENT else permanent)(lab, problem)
    lab.cli.close()
    assert again is None or again.code == 0, again
    asked = 1 if found.code == 4 else 0
    assert found.errors == asked, found
    label = (
        f"{TOO_OLD} ({version(lab.old)})" if problem == TOO_OLD else LABELS.get(problem, problem)
    )
    return f"| {' | '.join((label, *cells(lab, found), f'{found.seconds:.0f}'))} |"


def cells(lab: Lab, found: Outcome) -> tuple[str, ...]:
    """What the table says about a session, without what differs from run to run."""
    told = f"waits: {found.waited}" if found.waited else found.printed
    for pattern, plain in (
        (r"https?://127\.0\.0\.1:\d+[^\s,)]*|127\.0\.0\.1:\d+", "..."),
        (re.escape(str(lab.link)), f"/opt/{lab.agent.program}"),
        (r"\|", r"\\|"),
    ):
        told = re.sub(pattern, plain, told)
    return (told, *map(str, (found.code, found.turns, found.iterations)))


def version(program: str) -> str:
    """The version that a program says it has."""
    said = subprocess.run((program, "--version"), capture_output=True, text=True, check=True)
    found = re.search(r"\d+\.\d+\.\d+", said.stdout)
    assert found is not None, said
    return found[0]


def documented(name: str, problem: str) -> tuple[str, ...]:
    """What the table in docs/agents.md says about a session, without how long it took."""
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    table = page.split(f"\n#### {name} ", 1)[1].split("\n#### ", 1)[0]
    label = re.escape(LABELS.get(problem, problem))
    (row,) = re.findall(rf"^\| {label} \| (.*) \| \d+ \|$", table, re.MULTILINE)
    told, *figures = row.rsplit(" | ", 3)
    return (told, *figures)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What becomes of sessions whose agent cannot work, or has to wait, with the real agents.

The tests run the agents that are installed. The table in docs/agents.md has all of them:

    python -m tests.agents.problem_lab FOLDER [AGENT...]

FOLDER holds the programs of those that the tests do not install (npm install --prefix FOLDER ...).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.agents import problems
from tests.agents.model import Reply, ScriptedModel
from tests.e2e.conftest import Cli

if TYPE_CHECKING:
    from tests.e2e.conftest import Result

DONE = Reply(text="It is done.\n<promise>COMPLETE</promise>")
NOT_INSTALLED, TOO_OLD, NO_LOGIN, NO_NETWORK = "not installed", "too old", "no login", "no network"
PERMANENT = (NO_LOGIN, problems.KEY, problems.CREDIT, problems.MODEL)
TRANSIENT = (problems.RATE, problems.RATE_UNTIL, problems.BROKEN, problems.BUSY, NO_NETWORK)
PATIENCE = 900.0
Environment = Callable[[ScriptedModel, Path], dict[str, str]]


class LabAgent(NamedTuple):
    """A real agent: its driver and program, its environment, and what its login consists of."""

    driver: str
    program: str
    arguments: str
    environment: Environment
    login: tuple[str, ...]

    def profile(self, program: str) -> dict[str, Any]:
        """Its profile in hookline.yaml."""
        full = {"permissions": "full"} if self.driver == "codex" else {}
        return {"driver": self.driver, "command": f"{program} {self.arguments}".strip(), **full}


AGENTS = {
    "Claude Code": LabAgent(
        "claude-code", "claude", "", ScriptedModel.claude_env, ("ANTHROPIC_API_KEY",)
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

    def __init__(self, folder: Path, agent: LabAgent, program: str) -> None:
        self.cli = Cli(folder)
        self.agent, self.program = agent, program
        self._home = folder / "agent-home"
        self._base = dict(self.cli.env)
        subprocess.run(("git", "init", "-q", str(self.cli.root)), check=True)
        # What its model says is the whole of its work: a promise counts without a change.
        noted = {"name": "noted", "command": f"echo x >> {folder}/errors"}
        hooks = {"on_error": [noted], "stop": ["default"]}
        self._errors = folder / "errors"
        self.configure(hooks=hooks, session={"iterations": 3, "model_wait": 1})

    def configure(self, **sections: Any) -> None:
        """Write hookline.yaml; JSON is YAML."""
        agents = {"it": self.agent.profile(self.program)}
        all_of = {"agents": agents, **sections}
        self.cli.configure("".join(f"{k}: {json.dumps(v)}\n" for k, v in all_of.items()))

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
        process = self.cli.start("run", "do it", "--name", "s", "--json")
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            record = json.loads(line)
            if record["type"] == "session_waits" and then is not None:
                waited, shown = record["data"]["reason"], self.cli("session", "show", "s").stdout
                then()
                then = None
        _, stderr = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in stderr, stderr
        data = json.loads(lines[-1])["data"]
        costs = self.cli.json("task", "show", "T-1")["cost"]
        return Outcome(
            code=process.returncode,
            printed=data.get("message", ""),
            ended=data,
            turns=costs["turns"],
            iterations=data["iterations"],
            errors=len(self._errors.read_text().splitlines()) if self._errors.exists() else 0,
            waited=waited,
            shown=shown,
            seconds=time.monotonic() - began,
            attention=self.cli("attention", "--json").json,
        )


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


def transient(lab: Lab, problem: str) -> Outcome:
    """A session whose model comes back once the session waits for it."""
    if problem == NO_NETWORK:
        with ScriptedModel([DONE]) as gone:
            lab.sit_down(gone)
        with ExitStack() as models:
            return lab.run(lambda: models.enter_context(ScriptedModel([DONE], gone.port)))
    headers = (("retry-after", "7"),) if problem == problems.RATE_UNTIL else ()
    name = problems.RATE if problem == problems.RATE_UNTIL else problem
    with ScriptedModel([Reply(problem=name, headers=headers)]) as model:
        lab.sit_down(model)
        return lab.run(lambda: model.change(DONE))


# The table


def installed(agent: LabAgent, folder: str | None) -> str | None:
    """The program of an agent: one that the tests install, or one of this folder."""
    own = Path(__file__).parents[2] / ".agents/node_modules/.bin"
    return shutil.which(agent.program, path=os.pathsep.join((str(own), folder or "")))


def main(folder: str, *names: str) -> None:
    """Print a row of the table for each agent and problem."""
    programs = f"{folder}/node_modules/.bin"
    for name in names or AGENTS:
        agent = AGENTS[name]
        program = installed(agent, programs)
        if program is None:
            raise SystemExit(f"{agent.program} is not installed in {folder}")
        for problem in (*PERMANENT, *TRANSIENT):
            with TemporaryDirectory(prefix="hookline-lab-", ignore_cleanup_errors=True) as place:
                print(_row(name, problem, Lab(Path(place), agent, program)), flush=True)


def _row(name: str, problem: str, lab: Lab) -> str:
    again = ""
    if problem in PERMANENT:
        found, resumed = permanent(lab, problem)
        again = f"; resumed: exit {resumed.code}" if resumed is not None else ""
    else:
        found = transient(lab, problem)
    lab.cli.close()
    told = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1", found.printed)
    waited = f"waits ({found.waited}), then: " if found.waited else ""
    cells = (name, problem, f"{waited}{told}", str(found.code), str(found.turns))
    used = (str(found.iterations), f"{found.seconds:.0f} s, on_error {found.errors}{again}")
    return f"| {' | '.join((*cells, *used))} |"


if __name__ == "__main__":
    main(*sys.argv[1:])

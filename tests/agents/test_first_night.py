"""A stranger's first night: init, run --detach, the terminal is closed, status, report.

On public repositories Hookline is installed by pip, into a new environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.agents.model import Reply, Rule
from tests.agents.problem_lab import NO_NAMESPACES
from tests.agents.public_repositories import REPOSITORIES
from tests.agents.rig import PROJECT, need_namespaces, program
from tests.agents.session_desk import PATIENCE, WORKERS, asked, script
from tests.e2e.conftest import PROGRAM, Cli, eventually
from tests.e2e.terminal_rig import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.agents.conftest import Script
    from tests.agents.model import ScriptedModel
    from tests.agents.public_repositories import Repository

pytestmark = pytest.mark.timeout(6 * PATIENCE)
PROMISE = "<promise>COMPLETE</promise>"
UNCHANGED = "- a change: the diff is empty (ignored files and .hookline do not count)\n"
FAILING = "- the check tests_pass, which failed: exit code 1"
PROVEN = "Proven: tests_pass passed on a diff of 1 file"
AGENTS = {"claude": "claude-code", "codex": "codex"}
PUBLIC = [(agent, name) for agent in AGENTS for name in ("inflection", "left-pad")]


class Night:
    """A repository in a folder of its own, and a user who has Claude Code and Codex."""

    def __init__(self, folder: Path, repository: Repository, agent: str) -> None:
        self.cli = Cli(folder)
        self.repository, self.agent = repository, agent
        self.worker = WORKERS[AGENTS[agent]]
        self._home = folder / "agent-home"
        self._kept = folder / "kept"
        self._installed: tuple[Path, ...] = ()
        repository.make(self.cli.root)
        self.cli.put(".gitignore", "__pycache__/\n.pytest_cache/\nignored/\nnode_modules/\n")
        for words in (
            ("init", "-q", "-b", "main"),
            ("config", "user.name", "Ada"),
            ("config", "user.email", "ada@example.org"),
            ("add", "."),
            ("commit", "-q", "-m", "A start"),
        ):
            subprocess.run(("git", *words), cwd=self.cli.root, check=True)

    def script(self, closed: threading.Event) -> list[Rule]:
        """Four iterations that all promise COMPLETE; the first waits for the terminal's end."""
        tests, source = self.repository.tests, self.repository.source
        mend = f"cat {self._kept} > {tests}; echo '{self.repository.comment} better' >> {source}"
        work = (
            "mkdir -p ignored; echo 1 > ignored/a; echo 2 > .hookline/b",
            f"cat {tests} > {self._kept}; {self.repository.breaks}",
            mend,
        )
        rules = script("iteration 1 of", Reply(text=f"I only talk. {PROMISE}", after=closed))
        for number, line in enumerate(work, 2):
            done = Reply(text=f"All is done. {PROMISE}")
            does = Reply(calls=(self.worker.shell(line),))
            # A conversation goes on: what was said in an earlier iteration stays in it.
            rules = [*script(f"iteration {number} of", does, done), *rules]
        return rules

    def install(self) -> None:
        """Install this checkout into a new environment, whose `hookline` is then typed."""
        place = self.cli.root.parent / "environment"
        for words in (
            ("venv", str(place)),
            ("pip", "--python", str(place), "install", str(PROJECT)),
        ):
            subprocess.run((sys.executable, "-m", *words), check=True, capture_output=True)
        self._installed = (place / "bin",)

    def log_in(self, model: ScriptedModel) -> None:
        """Both agents speak to this model alone."""
        own = (Path(sys.executable).parent, Path(program("claude")).parent)
        programs = (*self._installed, *own)
        self.cli.env |= {
            **model.claude_env(self._home),
            **model.codex_home(self._home),
            "PATH": os.pathsep.join((*map(str, programs), os.environ["PATH"])),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            "PS1": "$ ",
        }

    def shell(self) -> Terminal:
        """A shell in a terminal."""
        return Terminal(
            self.cli, "--norc", "--noprofile", "-i", columns=200, rows=50, program=("bash",)
        )

    def init_without_namespaces(self) -> str:
        """What `init` says where no process can have namespaces, as in many containers."""
        starter = self.cli.put("../starter", NO_NAMESPACES, 0o755).resolve()
        words = ("unshare", "-Ur", str(starter), *PROGRAM, "init", "--yes")
        env = self.cli.env
        done = subprocess.run(words, cwd=self.cli.root, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def choose(self) -> None:
        """Choose the agent in the file that init wrote; where it is told, without a sandbox."""
        path = self.cli.root / "hookline.yaml"
        written = path.read_text().replace("\nagent: claude\n", f"\nagent: {self.agent}\n")
        if self.agent == "codex" and not _has_namespaces():
            written = written.replace("{driver: codex}", "{driver: codex, permissions: full}")
        path.write_text(written)
        self.cli.json("trust", "--yes")


def _has_namespaces() -> bool:
    """Whether Codex's sandbox can work here; if not, doctor tells what to write."""
    return not subprocess.run(("unshare", "-Ur", "true"), capture_output=True).returncode


@pytest.fixture
def night(tmp_path: Path, agent: str, name: str) -> Iterator[Night]:
    program(agent)
    made = Night(tmp_path, REPOSITORIES[name], agent)
    if (agent, name) in PUBLIC:
        made.install()
    yield made
    made.cli.close()


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("codex", "small"),
        pytest.param("claude", "small", marks=pytest.mark.torture),
        *(pytest.param(*each, marks=pytest.mark.torture) for each in PUBLIC),
    ],
)
def test_a_session_goes_on_when_its_terminal_is_closed_and_ends_proven(
    night: Night, scripted: Script
) -> None:
    cli, closed = night.cli, threading.Event()
    model = scripted(*night.script(closed))
    night.log_in(model)
    terminal = night.shell()
    terminal.type(b"hookline init\n")
    terminal.shows("This executes code of this repository [y/N]")
    terminal.type(b"y\n")
    terminal.shows("Write hookline.yaml and .hookline/ here? [Y/n]")
    terminal.type(b"y\n")
    terminal.shows('next: hookline run "what the agent should do"')
    assert any("chosen    claude, logged in" in row for row in terminal.everything)
    assert "\n  stop: [evidence]" in (cli.root / "hookline.yaml").read_text()
    night.choose()
    terminal.type(b'hookline run "Improve it" --detach --name night\n')
    terminal.shows("hookline stop night")
    model.wait_for(1, PATIENCE)
    terminal.hang_up()
    terminal.process.wait(PATIENCE)

    assert "running   night  iteration 1/20" in cli("status").stdout
    closed.set()
    eventually(lambda: cli.json("status")["running"] == [], "the end", 3 * PATIENCE, 0.2)
    assert "done      night" in cli("status").stdout
    report = cli("report").stdout
    assert f"✓ T-1   completed  Improve it\n        {PROVEN}" in report
    assert f"✓ night  completed after 4 iterations: {PROVEN}" in report
    for number, why in enumerate((UNCHANGED, UNCHANGED, FAILING), 2):
        assert why in asked(model, f"This is iteration {number} of").newest


@pytest.mark.torture
@pytest.mark.parametrize(("agent", "name"), [("codex", "small")])
def test_where_codex_has_no_sandbox_init_says_what_to_write(night: Night, scripted: Script) -> None:
    need_namespaces()
    night.log_in(scripted())
    shown = night.init_without_namespaces()
    assert "chosen    claude, logged in\n" in shown
    assert "codex cannot work yet: The sandbox of Codex cannot work here" in shown
    assert "If this machine is itself a sandbox, set `permissions: full` for that agent" in shown

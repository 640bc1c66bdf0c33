"""Where a configuration was trusted, a missing one is a change: gates stand, and work waits."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.gate_rig import Repo

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GATED = """\
task_types:
  feature:
    hooks: {before_submit: [{name: never, command: "exit 1"}]}
agents:
  bot: {driver: command, command: "echo '<promise>COMPLETE</promise>'"}
"""


def check_told(cli: Cli, task: str) -> None:
    """What is missing is named with the command that helps, and the gates that stand are shown."""
    found = cli("check", "--json")
    (problem,) = (each for each in found.json["problems"] if each["severity"] == "error")
    assert (found.code, problem["code"]) == (2, "removed")
    told = "hookline.yaml was removed after you trusted it"
    assert told in problem["message"]
    shown = cli("check")
    assert (shown.code, told in shown.stdout, "no problems" in shown.stdout) == (2, True, False)
    points = {
        each["point"]: each["gates"]
        for each in cli("gate", "explain", task, "--json").json["points"]
    }
    assert [each["hook"] for each in points["before_submit"]] == ["never"]
    first = cli("attention", "--json").json[0]
    assert (first["id"], told in first["message"]) == ("hookline.yaml", True)
    subprocess.run(first["command"], shell=True, check=True, cwd=cli.root)


@pytest.mark.parametrize("name", ["hookline.yml", "Hookline.yaml", None])
@pytest.mark.parametrize("option", ["--yes", "--always"])
def test_a_missing_configuration_opens_no_gate(cli: Cli, name: str | None, option: str) -> None:
    repo = Repo(cli)
    repo.begin(GATED)
    if option == "--always":
        cli.json("trust", "--always", "--yes")
    task = cli.add("risky", "--type", "feature")
    path = cli.root / "hookline.yaml"
    text = path.read_text()
    if name is None:
        path.unlink()
    else:
        path.rename(cli.root / name)

    assert not cli.json("trust", "--show")["trusted"]
    for words in (("work", "--once"), ("run", "do it"), ("submit", task), ("merge", task)):
        code, error = cli.refused(*words)
        assert (code, error["code"]) == (2, "untrusted"), words
    done = cli("task", "complete", task)
    assert "hookline.yaml was removed after you trusted it" in done.stderr
    assert cli.json("task", "show", task, quiet=False)["state"] == "submitted"

    check_told(cli, task)
    assert path.read_text() == text
    assert cli.json("trust", "--show")["trusted"]
    path.unlink()
    assert cli("trust", "--yes").code == 0
    assert cli("task", "add", "free").stderr == ""


def test_nothing_is_missing_where_nothing_was_trusted(cli: Cli) -> None:
    cli.configure("hooks: {}", trust=False)
    (cli.root / "hookline.yaml").unlink()
    assert cli("task", "add", "one").stderr == ""

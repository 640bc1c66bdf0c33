"""Two sessions in one folder: nobody can tell whose change it is, so neither is proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.session_rig import PROMISE, Rig, finished

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

FINE = {"name": "fine", "type": "command", "command": "true"}
# Each of the two waits for the other; only one edits.
WAIT = "until [ -e {0}/%s ]; do sleep 0.02; done"
HONEST = f"touch {{0}}/honest; {WAIT % 'liar'}; echo x > new; touch {{0}}/made"
LIAR = f"touch {{0}}/liar; {WAIT % 'made'}"


def _rig(cli: Cli, stop: str) -> Rig:
    rig = Rig(cli)
    agents: dict[str, Any] = {}
    for name, script in (("honest", HONEST), ("liar", LIAR)):
        path = rig.file(f"{name}.sh")
        path.write_text(f"cat > /dev/null; {script.format(rig.box)}; {PROMISE}\n")
        agents[name] = {"driver": "command", "command": f"sh {path}"}
    rig.configure({"stop": [stop]}, agents=agents, validation=[FINE])
    rig.repository()
    return rig


@pytest.mark.examples(1)
@pytest.mark.parametrize("stop", ["evidence", "checked"])
def test_a_change_of_another_session_proves_nothing(cli: Cli, stop: str) -> None:
    rig = _rig(cli, stop)
    other = rig.start("--agent", "honest", name="honest-work")
    eventually((rig.box / "honest").exists, "the first turn")
    said = finished(cli.start(*rig.arguments("--agent", "liar", goal="lie", n=1, name="liar")))
    assert said.said[:2] == (4, "escalated")
    assert "another session, honest-work, works in this folder" in said.data["reason"]
    assert cli.task("T-2")["state"] == "blocked"
    told = " ".join(cli("attention").stdout.split())
    assert "whose change it is cannot be told" in told
    accept = "hookline task unblock T-2 && hookline task complete T-2"
    assert f"or, if you looked and the work is right: {accept}" in told
    for command in accept.split(" && "):
        assert cli(*command.split()[1:]).code == 0
    assert finished(other).said[:2] == (4, "escalated")
    left = cli("attention").stdout
    assert "session    honest-work" in left
    assert "session    liar" not in left


def test_one_session_after_the_other_is_proven(cli: Cli) -> None:
    rig = _rig(cli, "evidence")
    for name, file in (("one", "a"), ("two", "b")):
        rig.turns(rest=f"echo x > {file}; {PROMISE}")
        assert rig.run(name=name).said[:2] == (0, "completed")


def test_run_warns_of_a_session_that_works_in_the_folder(cli: Cli) -> None:
    rig = _rig(cli, "checked")
    other = rig.start("--agent", "honest", name="honest-work")
    eventually((rig.box / "honest").exists, "the first turn")
    said = cli.process("run", "lie", "--agent", "liar", "--iterations", "1")
    assert "warning: honest-work already works in this folder" in said.stderr
    finished(other)

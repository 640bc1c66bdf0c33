"""Which session `hookline run --resume` goes on with when none is named."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from hookline.errors import LIMIT
from tests.e2e.conftest import eventually

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

AGENT = """\
cat > /dev/null
touch ../begun
while [ -e ../wait ]; do sleep 0.02; done
cat ../say
"""


@pytest.mark.torture
def test_an_interrupted_session_comes_before_one_at_its_limit(cli: Cli) -> None:
    outside = cli.root.parent
    cli.put("agent.sh", AGENT)
    cli.configure("agents:\n  ada: {driver: command, command: sh agent.sh}\n")
    (outside / "say").write_text("not yet\n")
    (outside / "wait").touch()
    process = cli.start("run", "the older", "--name", "interrupted")
    eventually((outside / "begun").exists, "the turn")
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        eventually(lambda: bool(cli.events("run_signalled")), "the wish to stop")
    process.communicate(timeout=100)
    (outside / "wait").unlink()
    assert cli("run", "the newer", "--name", "limited", "--iterations", "1").code == LIMIT
    (outside / "say").write_text("<promise>COMPLETE</promise>\n")
    # Whoever raises a limit means the one that it stopped.
    raised = cli("run", "--resume", "--iterations", "1")
    assert "limited has reached its limit" in raised.stderr
    resumed = cli("run", "--resume")
    assert resumed.code == 0
    assert "resuming interrupted (R-1): the older" in resumed.stderr
    # Of those that are left, it is the only one; what it needs is told.
    left = cli("run", "--resume", "--json")
    assert (left.code, json.loads(left.stderr)["error"]["code"]) == (2, "bad-input")
    assert cli("run", "--resume", "--iterations", "3").code == 0


def test_of_several_sessions_none_is_guessed(cli: Cli) -> None:
    cli.put("agent.sh", "cat > /dev/null\necho '<promise>BLOCKED</promise>'\n")
    cli.configure("agents:\n  ada: {driver: command, command: sh agent.sh}\n")
    for name in ("one", "two"):
        cli("run", name, "--name", name)
    for command in (("resume",), ("run", "--resume")):
        asked = cli(*command)
        assert asked.code == 2
        assert "2 sessions can be resumed" in asked.stderr
        for name in ("one", "two"):
            assert f"hookline run --resume --name {name}`" in asked.stderr.splitlines()[-1]
    cli("flow", "cancel", "R-2")
    assert "resuming one (R-1)" in cli("resume").stderr

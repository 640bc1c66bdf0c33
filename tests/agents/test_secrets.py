"""Secrets of many shapes that real agents say, print and pass to tools: kept and shown nowhere."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from tests.agents.model import Reply, Rule
from tests.agents.session_desk import DONE, LIGHT, PATIENCE, RIGHT
from tests.e2e.leak_rig import SECRETS, TOKENS, Leaks

if TYPE_CHECKING:
    from tests.agents.conftest import Script, Seat

pytestmark = pytest.mark.timeout(3 * PATIENCE)


@pytest.mark.examples(1)
@pytest.mark.parametrize("agent", LIGHT)
def test_a_session_of_a_real_agent(seat: Seat, scripted: Script, agent: str) -> None:
    desk = seat(agent)
    leaks, worker = Leaks(desk.cli), desk.worker
    words = "\n".join([*SECRETS.values(), *TOKENS])
    plain = " ".join(shlex.quote(secret) for secret in SECRETS.values())
    calls = (
        worker.write(desk.program, RIGHT),
        worker.shell(f"{sys.executable} leak.py; printf '%s\\n' {plain}"),
        worker.tool("note_add", kind="learning", text=words),
        worker.tool("task_create", goal="look", notes=[words]),
    )
    said = [Reply(text=f"I say:\n{words}\n", calls=(call,)) for call in calls]
    last = Reply(text=f"{words}\n{DONE.text}")
    model = scripted(*(Rule("", each, anywhere=True, times=1) for each in (*said, last)))
    desk.sit_down(model, session={"model_wait": "1s"})
    leaks("run", "make check.sh pass", "--agent", "it", "--name", "s", "--iterations", "2")
    for command in (("session", "show", "s"), ("logs", "s"), ("note", "list"), ("why", "s")):
        leaks(*command, code=None)
    leaks("session", "report", "s", "-o", "-")
    assert "[redacted DB_PASSWORD]" in desk.cli("note", "list").stdout
    leaks.check(blobs=False)

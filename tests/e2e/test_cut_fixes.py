"""A turn that fixes work and is cut short by a person or a kill is no attempt to fix it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GATES = "hooks: {before_submit: [{name: signed, command: 'test -e signed'}]}\ngates: {tries: 1}\n"


@pytest.mark.examples(1)
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_turn_that_was_cut_short_is_no_attempt(cli: Cli, sent: signal.Signals) -> None:
    line = Pipeline(cli)
    line.begin(GATES)
    task = cli.add("a part")
    line.by_hand(task)
    line.turn(f"[ $n -le 2 ] && touch {line.box}/at-work-$n && sleep 600\ntouch signed\n")
    for turn in (1, 2):
        process = cli.start("submit", task, "--agent", "bot")
        eventually((line.box / f"at-work-{turn}").exists, "the agent at work")
        process.send_signal(sent)
        process.communicate(timeout=60)
    assert cli("submit", task).code == 0
    assert len(line.prompts(task)) == 3
    assert line.merges() == [task]

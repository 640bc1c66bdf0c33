"""What a person sees of the lanes: what each does, since when, until when it waits, and why."""

from __future__ import annotations

import json
import re
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.terminal_rig import Terminal

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

LONG = (
    "two of three checks are still under way, and the third one waits for a runner of the kind"
    " macos-15-xlarge, of which there is exactly one in this organisation"
)
PENDING = json.dumps({"status": "pending", "message": LONG, "retryAfter": 3600})
CONFIGURATION = """\
hooks:
  before_submit: [{name: checks, command: 'cat pending.json'}]
task_types: {a: {agents: {implementer: [ada]}}, b: {agents: {implementer: [bot]}}}
"""
CLOCK = r"\d\d:\d\d:\d\d"


@pytest.mark.examples(1)
@pytest.mark.parametrize("columns", [100, 80])
def test_every_lane_says_what_it_does_and_until_when_it_waits(cli: Cli, columns: int) -> None:
    line = Pipeline(cli)
    until = time.time() + 7200
    turn = {
        "text": "",
        "wait": {"kind": "usage_limit", "until": until},
        "usage": {"usd": 0.25},
        "repeat": True,
    }
    cli.put("ada.json", json.dumps([turn]))
    cli.put("pending.json", PENDING)
    bot = {"driver": "command", "command": f"sh {line.box}/agent.sh"}
    ada = {"driver": "scripted", "script": "ada.json"}
    line.begin(CONFIGURATION, agents=f"agents: {json.dumps({'ada': ada, 'bot': bot})}\n")
    cli.add("wait for the model", "--type", "a")
    cli.add("wait for the checks", "--type", "b")
    terminal = Terminal(cli, "work", "--agents", "2", columns=columns, rows=40)
    try:
        clock = time.strftime("%H:%M:%S", time.localtime(until))
        waits = rf"○ T-1 ada iteration 1, waits for its model: usage limit · \S+ since {CLOCK}"
        judged = rf"○ T-2 bot gates, waits for checks: {LONG} · \S+ since {CLOCK} · until {CLOCK}"
        for wanted in (rf"{waits} · until {clock} · \$0\.25", judged, "lanes 1/2"):
            terminal.until(partial(_finds, terminal, wanted), wanted)
        # What has happened is told whole as well, above the lanes.
        assert _finds(terminal, rf"T-2 ● before_submit checks \S+ {LONG}"), terminal.everything
        assert "…" not in "".join(terminal.everything)
    finally:
        terminal.close()


def _finds(terminal: Terminal, pattern: str) -> bool:
    return re.search(pattern, re.sub(r"\s+", " ", " ".join(terminal.everything))) is not None

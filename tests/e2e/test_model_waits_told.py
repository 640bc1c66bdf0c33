"""A model that takes no more for a while is told of, wherever the output of a worker goes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GATES = "hooks: {before_submit: [{name: twice, command: 'test $(wc -l < work) -ge 2'}]}\n"
# The first turn of the session waits, and so does the first one that fixes its work.
TURNS = [
    {"wait": {"kind": "usage_limit", "until": 1.0}},
    {"run": "echo once >> work", "text": "<promise>COMPLETE</promise>", "repeat": True},
]


def test_a_worker_says_that_a_model_is_waited_for_and_until_when(cli: Cli) -> None:
    line = Pipeline(cli)
    cli.put("turns.json", json.dumps(TURNS))
    actor = {"driver": "scripted", "script": "turns.json"}
    line.begin(GATES, agents=f"agents: {json.dumps({'ada': actor})}\n")
    task = cli.add("work on it")
    said = cli("work", "--once").stderr
    assert line.merges() == [task], said
    found = re.findall(rf"^{task} +ada waits for its model until \d\d:\d\d:\d\d(.*)$", said, re.M)
    assert found == [": usage limit", ""], said

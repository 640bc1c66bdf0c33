"""Secrets of many shapes in work that is judged: in no pull request, comment, commit or page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.leak_rig import SECRETS, Leaks, by_go
from tests.e2e.pipeline_rig import keepers
from tests.integration.github_stand_in import TOKEN

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline

# The first gate fails until the agent has fixed something; both tell all that they know.
HOOKS = """\
before_submit: [{name: fails, command: 'LEAK_EXIT=$(test -e told; echo $?) ./leak.py'},
{name: says, command: './leak.py go "$SUCCESS"'}, run_tests, create_pr],
before_merge: [ci_status, gatekeeper: [qa]]"""


@pytest.mark.torture
def test_what_people_see_of_work_that_leaks(line: HubPipeline, hub: Hub, cli: Cli) -> None:
    leaks = Leaks(cli)
    cli.env["GITHUB_TOKEN"] = TOKEN  # the one that the server knows
    cli.env["SUCCESS"] = '{"status": "success"}'
    words = "\n".join(SECRETS.values())
    remark = {"file": "log", "line": 1, "comment": words}
    verdict = {"verdict": "approve", "summary": words, "comments": [remark]}
    (line.box / "verdict").write_text(by_go(json.dumps(verdict)))
    line.begin_at(hub, hooks=HOOKS, agents=keepers(line, qa=f"cat {line.box}/verdict"))
    line.turn('work; [ "$n" = 1 ] || echo "$n" > told; "$HOOKLINE_PROJECT/leak.py"\n')
    hub.ci = lambda sha: "success" if len(line.prompts("T-1")) > 2 else "failure"
    hub.output = {"title": words, "summary": words, "text": words}
    line_of_log = {"path": "log", "start_line": 1, "annotation_level": "failure"}
    hub.annotations = [{**line_of_log, "message": words, "raw_details": words}]
    leaks("task", "add", f"Write a part\n\n{words}")
    leaks("work", "--once")
    assert [pull["merged"] for pull in hub.pulls.values()] == [True]
    for command in (("gate", "list", "T-1"), ("task", "show", "T-1"), ("why", "T-1")):
        leaks(*command)
    leaks("report", "--since", "1h", "--markdown")
    leaks("report", "--since", "1h", "--html", "-")
    leaks("report", "T-1-bot", "--html", "-")
    said = json.dumps([[pull["title"], pull["body"]] for pull in hub.pulls.values()])
    sent = [said, *hub.comments, *hub.messages, str(hub.reviews)]
    log = line.git("log", "--format=%B", "main", at=line.remote)
    told = "\n".join(line.prompts("T-1"))
    assert "log:1: failure: [redacted OPENAI_API_KEY]" in told
    assert "[redacted DB_PASSWORD]" in said
    assert "[redacted DB_PASSWORD]" in "".join(hub.comments)
    leaks.check(sent="\n".join(sent), log=log, told=told)

"""Turns in which an agent fixes its work: how they end, and what is told to whoever comes next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conflict_rig import MINE, TEXT, THEIRS, Sides
from tests.e2e.conftest import Cli
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASKS = {
    "verdict": "request_changes",
    "summary": "The part is not signed.",
    "comments": [
        {"file": "parts/T-1", "line": 1, "blocking": True, "comment": "Add your name."},
    ],
}


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Pipeline]:
    pipeline = Pipeline(Cli(tmp_path))
    yield pipeline
    pipeline.cli.close()


def begin(line: Pipeline, *gates: object, keeper: str = "false") -> str:
    """A task that is done by hand, with these gates; its goal could pass for a part of the page."""
    bot = {"driver": "command", "command": f"sh {line.box}/agent.sh"}
    agents = {"bot": bot, "qa": {"driver": "command", "command": keeper}}
    configuration = f"hooks: {json.dumps({'before_submit': gates})}\n"
    line.begin(configuration, agents=f"agents: {json.dumps(agents)}\nagent: bot\n")
    task = line.cli.add("a part\n\n## Sent back\n\nis a heading of the goal", "--note", "sign it")
    line.by_hand(task)
    return task


def test_an_agent_that_needs_a_person_is_asked_once(line: Pipeline) -> None:
    task = begin(line, {"name": "signed", "command": "test -e signed"})
    line.turn("echo 'Only ada may sign. <promise>BLOCKED</promise>'\n")
    assert line.cli("submit", task, "--agent", "bot").code == 3
    assert len(line.prompts(task)) == 1
    reason = "signed: `test -e signed` exited 1; the agent needs a person: Only ada may sign."
    assert line.cli.task(task)["blockReason"] == reason


def test_a_promise_of_completion_is_not_needed_and_not_told(line: Pipeline) -> None:
    task = begin(line, {"name": "signed", "command": "test -e signed"})
    line.turn("[ $n = 1 ] || touch signed; echo 'I did it. <promise>COMPLETE</promise>'\n")
    assert line.cli("submit", task, "--agent", "bot").code == 0
    assert len(line.prompts(task)) == 2


@pytest.mark.torture
def test_a_second_review_knows_what_the_first_one_asked_for(line: Pipeline) -> None:
    """And a reviewer reads the whole task, but not why it was sent back before."""
    asked = line.box.parent / "asked"
    answer = f"cat > {asked}; echo '{json.dumps(ASKS)}'"
    task = begin(line, {"gatekeeper": ["qa"]}, keeper=answer)
    line.turn("echo 'It is signed on the back.'\n")
    assert line.cli("submit", task, "--agent", "bot").code == 3
    question = asked.read_text()
    earlier = question.partition("Earlier reviews at this gate")[2]
    for part in (
        "- blocking, parts/T-1:1: Add your name.",
        "The author answered: It is signed on the back.",
        "block for each earlier blocking request that is right and not met",
    ):
        assert part in earlier
    assert line.cli("submit", task, "--agent", "bot").code == 3
    page = (line.place(task) / ".hookline" / "task.md").read_text()
    assert "\n## Sent back\n" in page
    wanted = asked.read_text().partition("The task:")[2].partition("</data ")[0]
    assert "is a heading of the goal" in wanted
    assert wanted.rstrip().endswith("- sign it")


def test_a_conflict_that_nobody_resolved_is_told_as_it_is_then(tmp_path: Path) -> None:
    """The files are as before, so whoever goes on is not told that they have markers."""
    sides = Sides(Cli(tmp_path))
    sides.start(TEXT)
    task = sides.part(MINE, theirs=THEIRS)
    sides.turn("echo 'I cannot decide. <promise>BLOCKED</promise>'\n")
    sides.submit(task, code=3)
    sides.submit(task, code=3)
    asked, _ = sides.prompts(task)
    assert "Leave no marker line" in asked
    page = (sides.place(task) / ".hookline" / "task.md").read_text()
    told = page.partition("## Sent back")[2]
    sides.cli.close()
    assert "Your branch is unchanged." in told
    assert "Leave no marker line" not in told


def test_what_a_hook_of_the_project_asks_for_stands_in_a_frame(line: Pipeline) -> None:
    said = {"status": "failure", "message": "no", "remediationPrompt": "Sign it.\n# Now push it"}
    line.cli.put("judge.json", json.dumps(said))
    task = begin(line, {"name": "judge", "command": f"cat {line.cli.root}/judge.json"})
    line.turn("true\n")
    line.cli("submit", task, "--agent", "bot")
    prompt = line.prompts(task)[0]
    word = prompt.partition("What it says, between the two lines marked ")[2].partition(".")[0]
    inside = prompt.partition(f"<data {word}>\n")[2].partition(f"\n</data {word}>")[0]
    assert inside == "Sign it.\n# Now push it"

"""Work that gatekeepers and people judge on its way into main."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.pipeline_rig import Pipeline, keepers

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

JUDGED = "hooks: {before_submit: [], before_merge: [{gatekeeper: [qa]}]}\n"
HUMAN = "hooks: {before_submit: [], before_merge: [{name: boss, human: {}}]}\n"
APPROVE = json.dumps({"verdict": "approve", "summary": "Fine.", "comments": []})


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


# Gatekeepers


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("echo Looks good to me, ship it", "gave no verdict"),
        (
            """echo '{"verdict": "lgtm", "summary": "", "comments": []}'""",
            "Invalid enum value 'lgtm' - at `$.verdict`",
        ),
        ("true", "gave no verdict: it is empty"),
    ],
)
def test_a_gatekeeper_without_a_verdict_keeps_the_gate_shut(
    line: Pipeline, cli: Cli, answer: str, why: str
) -> None:
    line.begin(JUDGED, agents=keepers(line, qa=answer))
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task).code == 3
    (verdict,) = [v for v in cli.json("gate", "list", task) if v["point"] == "before_merge"]
    assert verdict["status"] == "failure"
    assert why in verdict["message"]
    assert why in cli("gate", "list", task).stdout
    assert why in cli.task(task)["blockReason"]
    assert line.merges() == []
    assert line.git("show", f"hookline/{task}:parts/{task}") == "by hand"


def test_what_a_gatekeeper_asks_for_is_done_and_approved(line: Pipeline, cli: Cli) -> None:
    no = {"verdict": "request_changes", "summary": "Nearly.", "comments": ["Sign it."]}
    answer = f"test -f signed && echo '{APPROVE}' || echo '{json.dumps(no)}'"
    line.begin(JUDGED, agents=keepers(line, qa=answer))
    line.turn("grep -q 'Sign it.' \"$box/$n\" && touch signed\n")
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task).code == 0
    assert [status for _, status in line.verdicts(task, "before_merge")] == ["failure", "success"]
    assert len(line.prompts(task)) == 1
    assert line.git("ls-tree", "--name-only", "main", "signed", at=line.main) == "signed"


def test_nobody_judges_their_own_work(line: Pipeline, cli: Cli) -> None:
    line.begin(JUDGED.replace("qa", "bot"), agents=keepers(line, bot=f"echo '{APPROVE}'"))
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task, "--agent", "bot").code == 3
    assert line.merges() == []
    assert "own work" in cli.task(task)["blockReason"]


# People


@pytest.mark.torture
def test_a_worker_goes_on_when_a_person_approves(line: Pipeline, cli: Cli) -> None:
    line.begin(HUMAN)
    task = cli.add("a part")
    line.worker(code=4)
    waiting = cli("attention", "--json")
    assert (waiting.code, [item["id"] for item in waiting.json]) == (4, [task])
    assert cli("submit", task).code == 4
    _, error = cli.refused("gate", "approve", task, env={"HOOKLINE_AGENT": "bot"})
    assert "only a person can" in error["message"]
    worker = cli.start("work", "--json")
    cli.json("gate", "approve", task)
    eventually(lambda: line.merges() == [task], "the merge")
    eventually(lambda: all(s == "completed" for _, s in line.runs()), "the end of the merge")
    worker.send_signal(signal.SIGINT)
    worker.communicate(timeout=60)
    assert cli("attention").code == 0


def test_a_rejection_reaches_the_agent_and_the_person_is_asked_again(
    line: Pipeline, cli: Cli
) -> None:
    line.begin(HUMAN)
    line.turn('cp "$box/$n" mended\n')
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task, "--agent", "bot").code == 4
    cli.json("gate", "reject", task, "--comment", "It lacks a title.")
    assert cli("merge", task).code == 4
    (prompt,) = line.prompts(task)
    assert "It lacks a title." in prompt
    cli.json("gate", "approve", task)
    assert cli("merge", task).code == 0
    kept = line.git("ls-tree", "--name-only", "main", "mended", at=line.main)
    assert (line.merges(), kept) == ([task], "mended")


def test_an_approval_counts_for_the_work_that_was_approved(line: Pipeline, cli: Cli) -> None:
    gates = "[{name: look, command: 'test ! -f bad'}, {name: boss, human: {}}]"
    line.begin(f"hooks: {{before_submit: [], before_merge: {gates}}}\ngates: {{tries: 0}}\n")
    task = cli.add("a part")
    place = line.by_hand(task)
    assert cli("submit", task).code == 4
    cli.json("gate", "approve", task)
    (place / "more").write_text("more\n")
    line.commit("more", at=place)
    again = cli("merge", task)
    assert again.code == 4
    assert "The work has changed since the last decision" in again.stdout
    # What the gates before it let pass was other work, too.
    assert [hook for hook, _ in line.verdicts(task, "before_merge")] == ["look", "boss"] * 2
    cli.json("gate", "approve", task)
    (place / "bad").write_text("bad\n")
    line.commit("bad", at=place)
    assert cli("merge", task).code == 3
    assert line.merges() == []


def test_a_person_is_asked_once_about_work_that_a_gate_has_moved(line: Pipeline, cli: Cli) -> None:
    line.begin("hooks: {before_submit: [rebase_on_main, {name: boss, human: {}}]}\n")
    task = cli.add("a part")
    line.by_hand(task)
    line.push_aside("other", conflicting=False)
    assert cli("submit", task).code == 4
    cli.json("gate", "approve", task)
    assert cli("submit", task).code == 0
    assert line.merges() == [task]


@pytest.mark.torture
def test_work_that_was_mended_on_its_way_into_main_is_approved_again(
    line: Pipeline, cli: Cli
) -> None:
    line.begin(HUMAN)
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task, "--agent", "bot").code == 4
    line.push_aside("other")
    cli.json("gate", "approve", task)
    assert cli("merge", task).code == 4
    assert line.merges() == []
    cli.json("gate", "approve", task)
    assert cli("merge", task).code == 0
    line.check_main()

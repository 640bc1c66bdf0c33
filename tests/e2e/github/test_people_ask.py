"""People who ask for changes at the forge, where they merge themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.prompt_rig import check_prompt

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline

# The agent does something about all that it is told, or nothing at all.
TURN = '[ -e "$here/idle" ] || { echo "$n" > "fix-$n"; git add --all; git commit -qm "fix $n"; }\n'


def head(line: HubPipeline, task: str) -> str:
    return line.git("rev-parse", "HEAD", at=line.place(task))


def waits(cli: Cli, line: HubPipeline, task: str) -> None:
    """The task waits for somebody who merges what the pull request shows: its newest commit."""
    assert cli("merge", task, "--json").json["outcome"] == "waiting"
    assert cli.task(task)["state"] == "submitted"
    (item,) = (each for each in cli("attention", "--json").json if each["id"] == task)
    assert item["command"] == "gh pr merge 1"
    shown = line.git("rev-parse", f"hookline/{task}", at=line.remote)
    assert shown == head(line, task)


@pytest.mark.examples(1)
@pytest.mark.parametrize("before_submit", ["create_pr", ""])
def test_changes_that_a_person_asks_for_are_made_and_shown(
    line: HubPipeline, hub: Hub, cli: Cli, before_submit: str
) -> None:
    line.begin_at(hub, hooks=f"before_submit: [{before_submit}]", gates="merge: people, tries: 1")
    line.turn(TURN)
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task, "--json").json["outcome"] == "waiting"

    def ask(who: str, about: str, text: str, **more: Any) -> None:
        hub.review(who, "CHANGES_REQUESTED", about, body=text, **more)

    first = head(line, task)
    ask("ada", first, "", remarks=[(f"parts/{task}", 1, "Name who did it.")])
    waits(cli, line, task)
    (told,) = line.prompts(task)
    assert "ada reviewed your work and asked for changes" in told
    assert f"- parts/{task}:1: Name who did it." in told
    assert head(line, task) != first
    if before_submit:
        check_prompt(cli, "fix-forge", told)
    assert "they run again after your turn: `make test`\n" in told

    # Somebody who still looked at the first commit, and ada again, are heard as well.
    ask("bob", first, "Spell it right.")
    waits(cli, line, task)
    assert "Spell it right." in line.prompts(task)[1]
    ask("ada", head(line, task), "Now shorten it.")
    waits(cli, line, task)
    *_, last = line.prompts(task)
    assert "Now shorten it." in last
    assert "Spell it right." not in last
    assert len(line.prompts(task)) == 3, "nobody is told of anything twice"
    waits(cli, line, task)
    assert len(line.prompts(task)) == 3

    hub.squash(1)
    assert cli("merge", task, "--json").json["outcome"] == "merged"
    assert line.parts() == {task}


def test_an_agent_that_changes_nothing_leaves_it_to_people(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    line.begin_at(hub, hooks="before_submit: []", gates="merge: people, tries: 2")
    line.turn(TURN)
    (line.box / "idle").touch()
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task, "--json").json["outcome"] == "waiting"
    hub.review("ada", "CHANGES_REQUESTED", head(line, task), body="Name who did it.")
    result = cli("merge", task, "--json").json
    assert (result["outcome"], len(line.prompts(task))) == ("sent_back", 2)
    assert "ada asked for changes" in result["reason"]


@pytest.mark.torture
def test_what_a_gate_has_told_the_agent_the_merge_does_not_tell_again(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    reviewed = (
        "before_submit: [create_pr], before_merge: [reviews: {approvals: 1, retry_after: 1h}]"
    )
    line.begin_at(hub, hooks=reviewed)
    line.turn(TURN)
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task, "--no-merge", "--json").json["outcome"] == "submitted"
    hub.review("ada", "CHANGES_REQUESTED", head(line, task), body="Name who did it.")
    cli("work", "--once")  # which does not stay for an hour
    assert len(line.prompts(task)) == 1
    hub.review("bob", "APPROVED", head(line, task))
    assert cli("merge", task, "--json").json["outcome"] == "merged"
    assert len(line.prompts(task)) == 1


@pytest.mark.examples(1)
@pytest.mark.parametrize("merge", ["people", "auto"])
def test_a_comment_of_a_person_reaches_the_agent_once(
    line: HubPipeline, hub: Hub, cli: Cli, merge: str
) -> None:
    gates = "merge: people, tries: 1" if merge == "people" else "tries: 1"
    line.begin_at(hub, hooks="before_submit: [create_pr]", gates=gates)
    line.turn(TURN)
    task = cli.add("a part")
    line.by_hand(task)
    cli("submit", task, "--no-merge", "--json")
    first = head(line, task)
    hub.review("ada", "COMMENTED", first, body="Why not shorter?")
    hub.review("ada", "COMMENTED", first, remarks=[(f"parts/{task}", 1, "Name who did it.")])
    hub.review("eve", "COMMENTED", first, body="Do as I say.", role="NONE")
    hub.review("bob", "COMMENTED", first, body="Shorten it!")
    hub.review("bob", "APPROVED", first)
    outcome = cli("merge", task, "--json").json["outcome"]
    assert outcome == ("waiting" if merge == "people" else "merged")
    (told,) = line.prompts(task)
    assert "Why not shorter?" in told
    assert f"- parts/{task}:1: Name who did it." in told
    assert "Do as I say." not in told
    assert "Shorten it!" not in told
    check_prompt(cli, "fix-commented", told)
    if merge == "people":
        waits(cli, line, task)
        assert len(line.prompts(task)) == 1


@pytest.mark.torture
def test_a_comment_beside_a_request_asks_for_nothing(line: HubPipeline, hub: Hub, cli: Cli) -> None:
    line.begin_at(hub, hooks="before_submit: [create_pr]", gates="tries: 1")
    line.turn(TURN)
    task = cli.add("a part")
    line.by_hand(task)
    cli("submit", task, "--no-merge", "--json")
    first = head(line, task)
    hub.review("ada", "COMMENTED", first, body="Why not shorter?")
    hub.review("bob", "CHANGES_REQUESTED", first, body="Name who did it.")
    cli("merge", task)
    (told,) = line.prompts(task)
    assert "bob reviewed your work and asked for changes." in told
    assert "ada comments:\nWhy not shorter?" in told
    assert "bob asks for changes:\nName who did it." in told


def test_an_agent_need_not_change_anything_for_a_comment(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    line.begin_at(hub, hooks="before_submit: [create_pr]", gates="tries: 1")
    line.turn(TURN)
    (line.box / "idle").touch()
    task = cli.add("a part")
    line.by_hand(task)
    cli("submit", task, "--no-merge", "--json")
    hub.review("ada", "COMMENTED", head(line, task), body="Nice, is it fast?")
    assert cli("merge", task, "--json").json["outcome"] == "merged"
    assert len(line.prompts(task)) == 1

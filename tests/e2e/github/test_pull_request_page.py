"""What people see of a task's work: its pull request, and the commits on the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline, keepers

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline

GOAL = (
    "Write the part that everybody who reads the log has been waiting for since the spring\n\n"
    "It must be listed in the log."
)
SUBJECT = "Write the part that everybody who reads the log has been waiting for…"
APPROVES = """echo '{"verdict": "approve", "summary": "Short and right.", "comments": []}'"""
HOOKS = "before_submit: [run_tests, create_pr], before_merge: [gatekeeper: [qa]]"


def test_a_pull_request_tells_what_was_done_and_found(
    line: HubPipeline, hub: Hub, cli: Cli
) -> None:
    line.begin_at(hub, hooks=HOOKS, agents=keepers(line, qa=APPROVES))
    line.turn('work; echo "I wrote the part and listed it."\n')
    task = cli.add(GOAL)
    assert line.worker()["merged"] == [task]
    (pull,) = hub.pulls.values()
    goal, done, found = (
        pull["body"].index(words)
        for words in ("It must be listed in the log.", "## What was done", "## Evidence")
    )
    assert goal < done < found
    assert "I wrote the part and listed it." in pull["body"][done:found]
    assert "run_tests (before_submit) passed: `make test` passed" in pull["body"][found:]
    assert "gatekeeper (before_merge) passed: qa approves: Short and right." in pull["body"]
    assert "promise" not in pull["body"]
    (comment,) = hub.comments
    head = hub.landed[0][:12]
    assert f"Gatekeeper qa (agent qa) approves {head}.\n\nShort and right." in comment
    branches = line.git("for-each-ref", "--format=%(refname:short)", at=line.remote)
    assert branches == "main", "the branch is removed once it is merged"


@pytest.mark.examples(1)
@pytest.mark.parametrize("said", ["", "I listed it."])
def test_a_promise_alone_is_not_what_was_done(
    line: HubPipeline, hub: Hub, cli: Cli, said: str
) -> None:
    """The last words before it are, if there are any."""
    line.begin_at(hub, hooks="before_submit: [{command: 'test -e fixed'}, create_pr]")
    line.turn(f'if [ "$n" = 1 ]; then work; echo "{said}"; else touch fixed; fi\n')
    task = cli.add(GOAL)
    assert line.worker()["merged"] == [task]
    (pull,) = hub.pulls.values()
    assert "COMPLETE" not in pull["body"]
    assert (f"## What was done\n\n{said}" in pull["body"]) == bool(said)
    assert ("## What was done" in pull["body"]) == bool(said)


@pytest.mark.torture
def test_commits_and_files_follow_a_fix(line: HubPipeline, hub: Hub, cli: Cli) -> None:
    line.begin_at(hub, hooks="before_submit: [create_pr, {command: 'test -e fixed'}]")
    line.turn('if [ "$n" = 1 ]; then work; else touch fixed; fi\n')
    task = cli.add(GOAL)
    assert line.worker()["merged"] == [task]
    (pull,) = hub.pulls.values()
    changes = pull["body"].partition("## Changes")[2].partition("## Evidence")[0]
    assert "\n- fixed\n" in changes
    assert f"\n- {hub.landed[0][:12]} " in changes
    assert pull["body"].count("Files (") == 1


@pytest.mark.torture
def test_commits_hold_the_whole_goal_and_whose_work_it_is(cli: Cli, hub: Hub) -> None:
    line = hub.line
    line.begin_at(hub, "agent: bot\n", gates="method: squash, delete_branch: false")
    base = (cli.root / "hookline.yaml").read_text().removeprefix("version: 1\n")
    for forge in ("github", "local"):
        for method in ("merge", "squash", "rebase"):
            text = base.replace("method: squash", f"method: {method}")
            cli.configure(text.replace("forge: github", f"forge: {forge}"))
            line.git("fetch", "--quiet", "origin")
            task = cli.add(GOAL)
            assert line.worker()["merged"] == [task], (forge, method)
            said = line.git("log", "-1", "--format=%B", "main", at=line.remote)
            subject, _, rest = said.partition("\n")
            assert subject == SUBJECT, (forge, method)
            assert GOAL in rest
            trailers = line.git("log", "-1", "--format=%(trailers:only)", "main", at=line.remote)
            assert trailers == f"Task: {task}\nAgent: bot", (forge, method)
    assert not any("\n\n\n" in each for each in hub.messages)
    branches = line.git("for-each-ref", "--format=%(refname:short)", at=line.remote)
    assert len(branches.split()) == 4, "what was pushed stays if it is to"


@pytest.mark.torture
def test_what_was_tested_is_not_tested_again(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin("hooks: {before_submit: []}\ngates: {test: 'echo x >> $RUNS; make test'}\n")
    runs = cli.root.parent / "runs"
    cli.env["RUNS"] = str(runs)
    task = cli.add("a part")
    line.by_hand(task)
    closed = line.remote / "hooks" / "pre-receive"
    closed.parent.mkdir(exist_ok=True)
    closed.write_text("#!/bin/sh\nexit 1\n")
    closed.chmod(0o755)
    assert cli("submit", task, "--json").json["outcome"] == "sent_back"
    assert runs.read_text().split() == ["x"]
    closed.unlink()
    assert cli("submit", task, "--json").json["outcome"] == "merged"
    assert runs.read_text().split() == ["x"], "the very same content"
    assert not cli.task(task).get("mergedUntested")

    other = cli.add("another part")
    line.git("fetch", "--quiet", "origin")
    line.by_hand(other, "origin/main")
    assert cli("submit", other, "--json").json["outcome"] == "merged"
    assert runs.read_text().split() == ["x", "x"], "other content"

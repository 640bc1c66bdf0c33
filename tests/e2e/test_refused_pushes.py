"""Pushes of a task's branch that a remote does not take: who is told what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.prompt_rig import check_prompt

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GATES = "hooks: {before_submit: [create_pr]}\ngates: {remote: origin, tries: 1}\n"


def begin(cli: Cli) -> tuple[Pipeline, str]:
    """A task that is done by hand, and a remote that gets its branch."""
    line = Pipeline(cli)
    line.begin(GATES + f"agents: {{bot: {line.profile}}}\nagent: bot\n", agents="")
    line.turn("true\n")
    task = cli.add("a part")
    line.by_hand(task)
    return line, task


def test_commits_of_others_on_the_branch_are_for_a_person_and_the_command_helps(cli: Cli) -> None:
    line, task = begin(cli)
    other = cli.root.parent / "other"
    line.git("clone", "--quiet", str(line.remote), str(other))
    (other / "more").write_text("by somebody else\n")
    line.git("switch", "--quiet", "--create", f"hookline/{task}", at=other)
    line.commit("more", at=other)
    line.git("push", "--quiet", "origin", f"hookline/{task}", at=other)
    done = cli("submit", task, "--agent", "bot", "--json")
    assert done.json["outcome"] == "sent_back"
    assert f"hookline/{task} at origin has commits from someone else" in done.json["reason"]
    assert not (line.box / task).exists(), "no agent can get what others pushed"
    (item,) = cli("attention", "--json").json
    pull, again = item["command"].split(" && ")
    place = line.place(task)
    assert pull == f"git -C {place} pull --rebase origin hookline/{task}"
    line.git(*pull.split()[1:])
    assert cli(*again.split()[1:]).code == 0
    assert line.merges() == [task]
    assert line.git("show", "main:more", at=line.main) == "by somebody else"


def test_what_the_remote_rejects_is_told_to_the_agent(cli: Cli) -> None:
    line, task = begin(cli)
    hook = line.remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'no commit without a ticket' >&2\nexit 1\n")
    hook.chmod(0o755)
    cli("submit", task, "--agent", "bot")
    (told,) = line.prompts(task)
    check_prompt(cli, "fix-rejected", told.replace(str(line.remote), "/remote"))

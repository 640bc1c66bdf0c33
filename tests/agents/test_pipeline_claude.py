"""Real agents resolve conflicts of their work with what others merged meanwhile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.agents.model import Reply, Rule
from tests.agents.rig import need_namespaces
from tests.agents.session_desk import DONE, PATIENCE, WORKERS, asked, script
from tests.e2e.pipeline_rig import work_ended

if TYPE_CHECKING:
    from pathlib import Path

    from tests.agents.conftest import Script
    from tests.e2e.pipeline_rig import Pipeline

GATES = """\
hooks:
  before_submit:
    - {name: meanwhile, command: "sh ../meanwhile.sh"}
    - rebase_on_main
    - run_tests
    - create_pr
"""
BOUNDED = """\
gates: {turns: 2, tries: 2}
hooks:
  before_submit:
    - {name: enough, command: "printf 'NOT %s\\n' ENOUGH; test $(wc -l < dug) -ge WANTED"}
"""
FIRST, CONFLICT = "This is iteration 1 of", "Your commits conflict with the newest main"
pytestmark = pytest.mark.timeout(3 * PATIENCE)


WAYS = {
    "merges": "git add log && git commit --no-edit",
    "rebases": "cp log ../merged; git merge --abort; git rebase ONTO; mv ../merged log;"
    " git add log; GIT_EDITOR=true git rebase --continue",
    "edits": "git add log && git commit --no-edit || printf NOT%s ALLOWED",
}


@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param("claude-code", "merges", marks=pytest.mark.torture),
        pytest.param("claude-code", "rebases", marks=pytest.mark.torture),
        ("codex", "edits"),
    ],
)
def test_a_conflict_is_resolved_in_the_agents_own_conversation(
    line: Pipeline, scripted: Script, tmp_path: Path, name: str, way: str
) -> None:
    """With git, or in a sandbox that keeps the git folder from being written to."""
    if name == "codex":
        need_namespaces()
    agent, cli = WORKERS[name], line.cli
    profile = {**agent.profile(), **({"permissions": "work"} if name == "codex" else {})}
    line.begin(
        GATES.replace("../", f"{tmp_path}/"),
        agents=f"agents: {json.dumps({'it': profile})}\nagent: it\n",
    )
    onto = line.push_aside("other", meanwhile=tmp_path / "meanwhile.sh")
    task = cli.add("add the part T-1 and list it in the log")
    place = line.place(task)
    git = WAYS[way].replace("ONTO", onto)
    resolve = [
        *agent.mend(place / "log", "<<<<<<< HEAD", ""),
        agent.shell(f"printf 'other\\nT-1\\n' > log; {git}"),
    ]
    work = agent.shell("echo mine > parts/T-1; echo T-1 >> log")
    model = scripted(
        *script(CONFLICT, *(Reply(calls=(each,)) for each in resolve), Reply(text="Both parts.")),
        *script(FIRST, Reply(calls=(work,)), DONE),
    )
    cli.env |= agent.environment(model, tmp_path / "agent-home")

    ended = work_ended(cli("work", "--once", "--json"))
    assert ended["merged"] == [task], [each.newest for each in model.requests]

    remediation = asked(model, CONFLICT)
    assert f"File log\n--- your side:\n{task}\n--- main:\nother\n" in remediation.newest
    assert FIRST in remediation.history
    if name == "codex":
        assert any("NOTALLOWED" in str(each.body) for each in model.requests)
    said = [(hook.rpartition(":")[2], status) for hook, status in line.verdicts(task)]
    assert said == [
        ("meanwhile", "success"),
        ("rebase_on_main", "failure"),
        ("meanwhile", "success"),
        ("rebase_on_main", "success"),
        ("run_tests", "success"),
        ("create_pr", "success"),
    ]
    assert (line.merges(), line.parts(), len(line.pulls())) == ([task], {"other", task}, 1)
    assert cli.task(task)["turnsUsed"] == 2
    line.check_main()


@pytest.mark.torture
@pytest.mark.parametrize(("wanted", "is_merged"), [(4, True), (5, False)])
def test_mending_ends_after_so_many_steps_and_its_gate_judges_what_was_done(
    line: Pipeline, scripted: Script, tmp_path: Path, wanted: int, is_merged: bool
) -> None:
    claude, cli = WORKERS["claude-code"], line.cli
    line.begin(
        BOUNDED.replace("WANTED", str(wanted)),
        agents=f"agents: {json.dumps({'it': claude.profile()})}\nagent: it\n",
    )
    task = cli.add("dig")
    begin, dig = (
        Reply(calls=(claude.shell(each),))
        for each in ("echo mine > parts/T-1; echo T-1 >> log; touch dug", "echo deeper >> dug")
    )
    model = scripted(Rule("NOT ENOUGH", dig, anywhere=True), *script(FIRST, begin, DONE))
    cli.env |= claude.environment(model, tmp_path / "agent-home")

    cli("work", "--once", "--json")
    found = cli.task(task)
    assert found["state"] == ("completed" if is_merged else "needs_continuation")
    assert (found["turnsUsed"], line.merges()) == (3, [task] if is_merged else [])
    if is_merged:
        assert line.git("show", "main:dug", at=line.main) == "\n".join(["deeper"] * 4)
    else:
        stopped = "the agent was stopped after 2 steps, the limit of a turn"
        assert f"the last one failed: {stopped}" in str(found["blockReason"])
        assert (line.place(task) / "dug").read_text() == "deeper\n" * 4

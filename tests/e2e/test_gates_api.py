"""The gates of a project, resolved and asked by a program: `hookline.gates`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline import App
from hookline.errors import HooklineError
from hookline.gates import HookContext, HookPoint, HookStatus, resolve_hooks, run_hooks
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli

TYPES = """\
hooks: {before_submit: [rebase_on_main, create_pr]}
task_types:
  product:
    hooks:
      before_submit: [rebase_on_main, run_tests, create_pr]
      before_merge: [{name: never, command: 'echo no; exit 1'}, {name: later, command: 'true'}]
  hotfix:
    hooks: {before_submit: [{name: off, command: 'false', enabled: false}, run_tests]}
"""
BEFORE_SUBMIT = HookPoint.BEFORE_SUBMIT


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


@pytest.fixture
def app(line: Pipeline, cli: Cli) -> Iterator[App]:
    lax = "{driver: command, command: 'true', hooks: {before_submit: [lint]}}"
    line.begin(TYPES, agents=f"agents: {{bot: {line.profile}, lax: {lax}}}\nagent: bot\n")
    opened = App.open(str(cli.root), environ=cli.env)
    yield opened
    opened.close()


def work_of(line: Pipeline, task: str, kind: str | None = None) -> HookContext:
    """A task's work as a program describes it."""
    return HookContext(
        task_id=task,
        task_title="a part",
        task_path="",
        task_type=kind,
        branch_name=f"hookline/{task}",
        base_branch="main",
        worktree=str(line.place(task)),
        agent_name="bot",
        commits_count=1,
    )


def test_gates_are_resolved_by_agent_type_project_and_default(app: App, cli: Cli) -> None:
    def targets(kind: str | None = None, agent: str | None = None) -> list[str]:
        return [gate.target for gate in resolve_hooks(BEFORE_SUBMIT, kind, agent, app=app)]

    assert targets() == targets("unheard-of") == ["rebase_on_main", "create_pr"]
    assert targets("product") == ["rebase_on_main", "run_tests", "create_pr"]
    assert targets("hotfix") == ["run_tests"]
    assert targets("product", "lax") == ["lint"]
    assert resolve_hooks(HookPoint.BEFORE_MERGE, app=app) == []


def test_gates_are_asked_until_the_first_that_fails(app: App, line: Pipeline, cli: Cli) -> None:
    task = cli.add("a part", "--type", "product")
    line.by_hand(task)
    work = work_of(line, task, "product")
    all_ok, results = run_hooks(BEFORE_SUBMIT, work, app=app)
    assert (all_ok, [each.status for each in results]) == (True, [HookStatus.SUCCESS] * 3)
    assert results[-1].context["pr_url"] == (cli.root / ".hookline/pulls/1.md").as_uri()

    all_ok, results = run_hooks(HookPoint.BEFORE_MERGE, work, app=app)
    (never,) = results
    assert (all_ok, never.status) == (False, HookStatus.FAILURE)
    assert never.remediation_prompt == "no\n"
    assert line.verdicts(task, "before_merge") == [("never", "failure")]
    assert run_hooks(HookPoint.AFTER_MERGE, work, app=app) == (True, [])
    with pytest.raises(HooklineError, match="T-99"):
        run_hooks(BEFORE_SUBMIT, work_of(line, "T-99"), app=app)


def test_gates_that_are_not_trusted_do_not_pass(app: App, line: Pipeline, cli: Cli) -> None:
    task = cli.add("a part", "--type", "product")
    line.by_hand(task)
    cli.put("hookline.yaml", (cli.root / "hookline.yaml").read_text() + "# changed\n")
    untrusted = App.open(str(cli.root), environ=cli.env)
    try:
        all_ok, results = run_hooks(BEFORE_SUBMIT, work_of(line, task, "product"), app=untrusted)
    finally:
        untrusted.close()
    assert (all_ok, [each.status for each in results]) == (False, [HookStatus.FAILURE])
    assert "hookline trust" in results[0].message

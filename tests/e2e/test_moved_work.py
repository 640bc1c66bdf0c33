"""Work that is put away while a gate looks: what the gate saw is not what would be merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

# Two gates stand for a process of the agent's that outlives its turn.
GATES = """\
hooks:
  before_submit:
    - {name: away, command: 'git tag --force kept && git reset --quiet --hard HEAD~1'}
    - secrets
    - {name: back, command: 'git reset --quiet --hard kept'}
gates: {test: 'make test', tries: 1}
"""
# Made up, in the shape of a real one; put together so that no scanner takes this file for a leak.
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3jK5"


def test_a_commit_that_no_gate_saw_is_not_merged(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin(GATES, remote=False)
    task = cli.add("part 1")
    commit = "git add --all && git commit --quiet --message work"
    line.turn(f"if [ ! -e key ]; then work; {commit}; echo {TOKEN} > key; {commit}; fi\n")
    cli("work", "--once")
    assert (line.merges(), cli.task(task)["state"]) == ([], "needs_continuation")
    assert "the work changes while its gates check it" in cli("attention").stdout

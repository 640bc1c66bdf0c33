"""Each gate has let exactly the commit pass that is merged, whatever programs of the work do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

# Made up, in the shape of a real one; put together so that no scanner takes this file for a leak.
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3jK5"
ADDS = f"test -e key || {{ echo {TOKEN} > key"
COMMITS = f"{ADDS} && git add key && git commit --quiet --message tidy; }}"
LEAVES = f"{ADDS}; }}"
CLAIMS = """printf '{"status": "success", "context": {"head": "%s"}}' "$(git rev-parse HEAD)\""""
WAITS = 'cd "$HOOKLINE_PROJECT/.hookline"; test -e go || { touch go; exit 75; }'


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    "gates",
    [
        [COMMITS],
        [COMMITS, CLAIMS],
        [f"{COMMITS} && {CLAIMS}"],
        [COMMITS, "create_pr"],
        [LEAVES],
        [COMMITS, WAITS],
        [LEAVES, WAITS],
    ],
)
@pytest.mark.parametrize("point", ["before_submit", "before_merge"])
def test_what_a_gates_program_adds_is_judged_by_all(cli: Cli, point: str, gates: list[str]) -> None:
    line = Pipeline(cli)
    listed = "".join(
        f"    - {gate}\n"
        if gate == "create_pr"
        else f"    - {{name: g{n}, command: {_quoted(gate)}}}\n"
        for n, gate in enumerate(gates)
    )
    line.begin(
        f"hooks:\n  {point}:\n    - secrets\n{listed}gates: {{test: 'make test', tries: 1}}\n",
        remote=False,
    )
    task = cli.add("part 1")
    line.turn("work\n")
    for _ in range(2 if WAITS in gates else 1):
        cli("work", "--once")
    assert (line.merges(), cli.task(task)["state"]) == ([], "needs_continuation")
    assert "1 credentials in the diff" in cli("attention").stdout


def test_a_rebase_is_judged_by_the_gates_before_it_and_no_other_twice(cli: Cli) -> None:
    line = Pipeline(cli)
    move = 'git -C "$HOOKLINE_PROJECT" commit --quiet --allow-empty --message other'
    line.begin(
        "hooks:\n  before_submit: [secrets, rebase_on_main, {name: last, command: 'true'}]\n"
        "gates: {test: 'make test'}\n",
        remote=False,
    )
    cli.add("part 1")
    line.turn(f"work; {move}\n")
    assert cli("work", "--once").code == 0
    assert len(line.merges()) == 1
    names = ("secrets", "rebase_on_main", "last")
    rows = cli.rows("SELECT hook FROM deliveries WHERE point = 'before_submit' ORDER BY id")
    asked = [row[0].rpartition(":")[2] for row in rows]
    assert [asked.count(name) for name in names] == [2, 1, 1]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

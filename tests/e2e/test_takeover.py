"""Work that another clone of the project, with the same store on a server, takes over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.clone_rig import PROMISE, SECRET, Clones
from tests.e2e.pipeline_rig import work_ended
from tests.postgres_server import PostgresServer, new_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.conftest import Cli


@pytest.fixture
def clones(cli: Cli, tmp_path: Path, postgres: PostgresServer) -> Iterator[Clones]:
    """Two clones of a project that share a store."""
    cli.env["HOOKLINE_STORE"] = new_project(postgres)
    made = Clones(cli, tmp_path / "elsewhere")
    yield made
    made.close()


def test_a_session_goes_on_in_another_clone(clones: Clones) -> None:
    first, second, rig = clones.first, clones.second, clones.rig
    rig.turns(
        "echo one > one; git add one; git commit -qm one; echo two > two; echo x >> readme;"
        f" echo 'token = {SECRET}' > .env; echo to be ignored > ignored;"
        " echo '/ignored' > .gitignore; echo '<promise>CONTINUE</promise>'",
        clones.hang(2, "echo lost > three"),
        f"ls -A > {rig.file('seen')}; git status --short >> {rig.file('seen')}; echo 3 > three;"
        f" {PROMISE}",
    )
    clones.begin()
    task = first.add("count")
    clones.kill_in_turn(task, 2)
    ended = work_ended(second("work", "--once", "--json"))
    assert ended["merged"] == [task]
    seen = rig.file("seen").read_text()
    assert {"one", "two", "readme"} <= set(seen.split())
    assert not {"three", ".env", "ignored"} & set(seen.split())
    assert " M readme" in seen
    prompts = [prompt.text for prompt in rig.prompts()]
    assert ["Another machine" in text for text in prompts] == [False, False, True]
    assert "- `.env`" in prompts[2]
    assert "Your last turn broke off" in prompts[2]
    merged = clones.repo.merged()
    assert {"one", "two", "three"} <= set(merged)
    assert ".env" not in merged
    assert clones.repo.runs().count(("merge", "completed")) == 1
    assert len(second.events("task_completed")) == 1


def test_no_folder_of_a_clone_is_in_the_log(clones: Clones) -> None:
    clones.rig.turns(f"echo one > one; {PROMISE}")
    clones.begin()
    task = clones.first.add("count")
    assert work_ended(clones.first("work", "--once", "--json"))["merged"] == [task]
    told = [event for event in clones.first.events() if event["type"] != "turn_cost"]
    named = [event for event in told if str(clones.first.root) in json.dumps(event)]
    assert not named, "\n".join(json.dumps(each) for each in named)

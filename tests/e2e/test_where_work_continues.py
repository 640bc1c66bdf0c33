"""Work stays on the host that has its files, as long as that one can continue it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hookline.app import App
from hookline.domain.hosts import HostFacts
from hookline.domain.work.places import WorkPlace
from hookline.worker.admission import Admission
from tests.e2e.clone_rig import PROMISE, Clones
from tests.e2e.conftest import eventually
from tests.postgres_server import PostgresServer, new_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.conftest import Cli

TASKS = 6
TYPES = {"code": {}, "model": {"needs": ["gpu"]}}


@pytest.fixture
def clones(cli: Cli, tmp_path: Path, postgres: PostgresServer) -> Iterator[Clones]:
    """Two hosts with a clone each."""
    cli.env["HOOKLINE_STORE"] = new_project(postgres)
    made = Clones(cli, tmp_path / "elsewhere")
    for each, name in zip(made.both, ("one", "two"), strict=True):
        each.env["HOOKLINE_HOST"] = name
    yield made
    made.close()


def test_gates_and_merges_stay_with_the_host_of_the_session(clones: Clones) -> None:
    clones.rig.turns(rest=f"echo part > $HOOKLINE_TASK_ID; {PROMISE}")
    clones.begin()
    for each in clones.both:
        each.start("work", "--agents", "2")
    eventually(lambda: len(clones.first.json("hosts")) == 2, "both hosts")
    tasks = [clones.first.add(f"part {number}") for number in range(TASKS)]
    done = {"completed"}
    eventually(
        lambda: {each["state"] for each in clones.first.json("task", "list", "--all")} == done,
        "all merges",
    )
    assert sorted(clones.repo.merged()) == sorted(tasks)
    said = [each["data"].get("message", "") for each in clones.first.events("run_log")]
    assert [each for each in said if "was taken over" in each] == []


@pytest.mark.parametrize(
    ("facts", "task_type", "left"),
    [
        ({}, "code", True),
        ({"labels": ("gpu",)}, "model", True),
        ({"agents": ("eve",)}, "code", False),
        ({"takes_tasks": False}, "code", False),
        ({}, "model", False),
        ({"version": "0.1"}, "code", False),
        ({"lease": 0.0}, "code", False),
    ],
)
def test_it_is_left_to_a_host_that_can_continue_it(
    clones: Clones, facts: dict[str, Any], task_type: str, left: bool
) -> None:
    clones.begin(task_types=TYPES)
    task = clones.first.add("a part", "--type", task_type)
    app = App.open(str(clones.second.root), environ=clones.second.env)
    usual = {"version": "0.2", "lease": 1000.0, "agents": ("bot",), "takes_tasks": True}
    with app.store.write({}) as tx:
        told = HostFacts(**{**usual, **facts})
        tx.hosts.tell("boot:1:2", "one", app.store.time() - 1, told)
        tx.hosts.wish(msgspec.structs.replace(tx.hosts.wishes(), min_version="0.2"))
        tx.work_places.set(task, WorkPlace(holder="one:/srv/shop"))
    admission = Admission(app)
    with app.read() as view:
        assert admission.leaves(view, view.graph.task(task), ["bot"]) == left
    clones.first.json("hosts", "drain", "one")
    with app.read() as view:
        assert not admission.leaves(view, view.graph.task(task), ["bot"])
    app.close()

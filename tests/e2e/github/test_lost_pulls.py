"""Pull requests that the store has forgotten, because its server was replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.failover_rig import Pair, followed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli
    from tests.e2e.hub_rig import Hub, HubPipeline


@pytest.fixture
def pair() -> Iterator[Pair]:
    with followed() as made:
        yield made


@pytest.mark.torture
def test_an_open_pull_request_is_noted_again(
    line: HubPipeline, hub: Hub, cli: Cli, pair: Pair
) -> None:
    cli.env["HOOKLINE_STORE"] = pair.url
    line.begin_at(hub, gates="merge: people")
    known = cli.add("known to both")
    pair.cut()
    lost = cli.add("known to the first")
    for task in (known, lost):
        line.by_hand(task)
        assert cli("submit", task, "--json").json["outcome"] == "waiting"
    urls = [cli.task(task)["prUrl"] for task in (known, lost)]
    assert len({*urls}) == 2
    pair.fail_over()
    cli.refused("task", "add", "more")
    found = cli.json("store", "reconcile", quiet=False)
    assert found["problems"] == []
    assert [(each["taskId"], each["kind"]) for each in found["differences"]] == [
        (known, "pull-request"),
        (lost, "lost-task"),
    ]
    assert [cli.task(task)["prUrl"] for task in (known, lost)] == urls
    assert [cli.task(task)["state"] for task in (known, lost)] == ["ready", "blocked"]
    # No second one is opened.
    assert cli("submit", known, "--json").json["outcome"] == "waiting"
    assert len(hub.pulls) == 2

"""Work that brings files of Hookline's own: merging it would put them in the place of yours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.adapters.store.sqlite import SqliteStore
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

ONCE = "hooks: {before_submit: []}\ngates: {tries: 0}\n"
LINK = "a link in place of the folder"


@pytest.mark.parametrize("name", ["hookline.db", "hookline.db-wal", "blobs/ab/x", LINK])
def test_it_is_found_before_any_gate_is_asked(cli: Cli, name: str) -> None:
    line = Pipeline(cli)
    line.begin(ONCE)
    task = cli.add("a part")
    place = line.by_hand(task)
    if name == LINK:
        (place / ".hookline").symlink_to("..")
    else:
        path = place / ".hookline" / name
        path.parent.mkdir(parents=True)
        SqliteStore(str(place / "x.db")).close()
        (place / "x.db").rename(path)
    line.git("add", "--force", ".hookline", at=place)
    line.commit("by force", at=place)
    assert cli("submit", task).code == 3
    reason = cli.task(task)["blockReason"]
    said = "cannot write to" if name == LINK else f".hookline/{name} is Hookline's own"
    assert said in reason
    assert line.merges() == []
    assert cli.task(task)["goal"] == "a part"


def test_hooks_and_flows_are_work_like_any_other(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin(ONCE)
    task = cli.add("a part")
    place = line.by_hand(task)
    path = place / ".hookline" / "flows" / "ship.py"
    path.parent.mkdir(parents=True)
    path.write_text("# nothing\n")
    line.git("add", "--force", ".hookline", at=place)
    line.commit("a flow", at=place)
    cli("submit", task)
    assert "is Hookline's own" not in (cli.task(task)["blockReason"] or "")

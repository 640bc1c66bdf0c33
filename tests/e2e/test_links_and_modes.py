"""Hookline writes through no link in its own folder, and lets nobody else read what it keeps."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

FILES = ("hookline.db", "hookline.db-wal", "hookline.db-shm", ".gitignore")
FOLDERS = (
    *("logs", "blobs", "values", "runs", "sessions", "reports", "pulls", "worktrees"),
    *("agents", "objects", "serving"),
)
COMMANDS = (("task", "add", "one"), ("task", "list"), ("work", "--flows", "--once"), ("init",))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def refused(cli: Cli) -> None:
    for words in COMMANDS:
        assert cli.refused(*words)[1]["code"] == "linked-folder", words
    result = cli("doctor", "--json")
    assert [each["name"] for each in result.json["checks"] if each["status"] == "failed"] == [
        "links"
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_link_in_place_of_a_file_is_refused(cli: Cli, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    cli.add("mine")
    target, link = outside / "precious", cli.root / ".hookline" / name
    outside.mkdir()
    if link.exists():
        link.rename(target)
    link.symlink_to(target)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    refused(cli)
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


@pytest.mark.examples(3)
@pytest.mark.parametrize("name", FOLDERS)
def test_a_link_in_place_of_a_folder_is_refused(cli: Cli, tmp_path: Path, name: str) -> None:
    outside, link = tmp_path / "outside", cli.root / ".hookline" / name
    outside.mkdir()
    link.symlink_to(outside)
    refused(cli)
    assert list(outside.iterdir()) == []


def test_a_link_in_place_of_the_folder_itself_is_refused(cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (cli.root / ".hookline").rename(outside)
    (cli.root / ".hookline").symlink_to(outside)
    refused(cli)
    assert list(outside.iterdir()) == []


def test_links_in_the_folders_that_people_fill_are_allowed(cli: Cli, tmp_path: Path) -> None:
    cli.put(".hookline/hooks/task_created/there.sh", "#!/bin/sh\ntouch ran\n", 0o755)
    (tmp_path / "flows").mkdir()
    (cli.root / ".hookline" / "flows").symlink_to(tmp_path / "flows")
    (cli.root / ".hookline" / "worktrees").mkdir()
    (cli.root / ".hookline" / "worktrees" / "T-9").symlink_to(tmp_path / "flows")
    assert cli("trust", "--yes").code == 0
    assert cli("task", "add", "one").code == 0
    assert (cli.root / "ran").exists()


def test_a_project_is_reached_through_a_link(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(cli.root)
    cli.root = tmp_path / "link"
    assert cli.add("one") == "T-1"
    assert cli.json("task", "list", env={"HOOKLINE_DIR": str(tmp_path / "link" / ".hookline")})


def test_nobody_else_reads_what_is_kept(cli: Cli) -> None:
    folder = cli.root / ".hookline"
    for name in ("hooks", "flows", "worktrees"):
        (folder / name).mkdir(mode=0o755)
    # As an earlier version left them.
    for name in ("logs", "sessions"):
        (folder / name).mkdir(mode=0o755)
    cli.home.mkdir(mode=0o755)
    before = os.umask(0)
    try:
        cli.configure(
            "agents: {bot: {driver: command, command: \"echo '<promise>COMPLETE</promise>'\"}}\n"
            'hooks: {task_created: [{name: long, command: "seq 9999; : {{task_title}}"}]}\n'
        )
        cli.add("x" * 60_000)
        cli("run", "do it", "--iterations", "1", "--name", "s")
        assert cli("session", "report", "s").code == 0
    finally:
        os.umask(before)
    assert mode(folder) == 0o711
    found = {path.name: mode(path) for path in folder.iterdir()}
    people = {name: found.pop(name) for name in ("hooks", "flows", "worktrees")}
    assert set(people.values()) == {0o755}
    assert {"logs", "sessions", "blobs", "values", "reports", "hookline.db"} <= set(found)
    for path in folder.rglob("*"):
        if path.name not in people:
            assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert mode(cli.home) == 0o700

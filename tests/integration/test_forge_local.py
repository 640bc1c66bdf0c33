"""The forge without a server: pull requests as files, whoever else works beside or dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.forges import local
from hookline.adapters.forges.local import LocalForge
from hookline.domain.work.forge import (
    CheckState,
    ForgeError,
    ForgeMissing,
    ForgeTemporary,
    MergeOutcome,
    PullRequest,
)

if TYPE_CHECKING:
    from hookline.ports.work import Forge

SHA, OTHER_SHA = "a" * 40, "b" * 40
OPENER = """
import asyncio, sys
from hookline.adapters.forges.local import LocalForge
async def main():
    forge = LocalForge(sys.argv[1])
    sys.stdin.readline()
    for branch in sys.argv[2:]:
        pull = await forge.open_pull_request(branch, "main", "Title", "Body")
        await forge.comment(pull, "said by all")
        print(branch, pull.number, flush=True)
asyncio.run(main())
"""
HOLDER = """
import asyncio, sys
from hookline.adapters.forges.local import LocalForge
async def main():
    async with LocalForge(sys.argv[1])._locked():
        print("locked", flush=True)
        sys.stdin.readline()
asyncio.run(main())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "pulls"


@pytest.fixture
def forge(folder: Path) -> LocalForge:
    return LocalForge(str(folder))


def opened(forge: LocalForge, branch: str = "task/T-1", base: str = "main") -> PullRequest:
    return asyncio.run(forge.open_pull_request(branch, base, "Add a login", "Why."))


def process(program: str, *arguments: str) -> subprocess.Popen[str]:
    argv = (sys.executable, "-c", program, *arguments)
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_it_is_a_forge(folder: Path) -> None:
    forge: Forge = LocalForge(str(folder), push_remote="origin")
    assert (forge.name, forge.push_remote, forge.merges) == ("local", "origin", False)
    assert LocalForge(str(folder)).push_remote is None


def test_looking_makes_nothing(forge: LocalForge, folder: Path) -> None:
    assert asyncio.run(forge.find_pull_request("task/T-1", "main")) is None
    with pytest.raises(ForgeMissing, match="no pull request 1"):
        asyncio.run(forge.pull_request(1))
    assert not folder.exists()


def test_a_pull_request_is_opened_once(forge: LocalForge) -> None:
    first = opened(forge)
    assert first == PullRequest(
        number=1,
        branch="task/T-1",
        base="main",
        title="Add a login",
        body="Why.",
        url=first.url,
    )
    assert opened(forge) == first
    assert asyncio.run(forge.find_pull_request("task/T-1", "main")) == first
    assert [opened(forge, "task/T-2").number, opened(forge, base="next").number] == [2, 3]


def test_its_url_is_a_page_for_people(forge: LocalForge) -> None:
    pull = opened(forge)
    asyncio.run(forge.comment(pull, "Looks good."))
    asyncio.run(forge.merge(pull, SHA, "squash"))
    page = Path(pull.url.removeprefix("file://")).read_text(encoding="utf-8")
    assert page.startswith("# Add a login (pull request 1)\n")
    assert "- branch: `task/T-1` into `main`" in page
    assert f"as {SHA} (squash)" in page
    assert "Why." in page
    assert page.endswith("Looks good.\n")


def test_an_update_changes_what_is_given(forge: LocalForge) -> None:
    opened(forge)
    updated = asyncio.run(forge.update_pull_request(1, title="  New\ntitle\udcff "))
    assert (updated.title, updated.body) == ("New title?", "Why.")
    assert asyncio.run(forge.update_pull_request(1, body="More.")).body == "More."
    assert asyncio.run(forge.pull_request(1)).title == "New title?"


def test_a_merge_is_recorded_once(forge: LocalForge) -> None:
    pull = opened(forge)
    assert asyncio.run(forge.merge(pull, SHA, "merge")) == MergeOutcome(SHA)
    assert asyncio.run(forge.merge(pull, OTHER_SHA, "merge")) == MergeOutcome(SHA, already=True)
    now = asyncio.run(forge.pull_request(1))
    assert (now.state, now.merged_sha) == ("merged", SHA)
    assert asyncio.run(forge.find_pull_request("task/T-1", "main")) is None
    assert opened(forge).number == 2


def test_nothing_checks_commits_here(forge: LocalForge) -> None:
    assert asyncio.run(forge.checks(opened(forge))) == CheckState("none")


def test_a_comment_is_made_once_per_text_or_key(forge: LocalForge, folder: Path) -> None:
    pull = opened(forge)
    for text, key in (("hello", None), ("hello", None), ("hello", "r2"), ("other", "r2")):
        asyncio.run(forge.comment(pull, text, key=key))
    record = json.loads((folder / "1.json").read_text())
    assert [comment["text"] for comment in record["comments"]] == ["hello", "hello"]


def test_many_processes_open_one_pull_request_per_branch(folder: Path) -> None:
    branches = [f"task/T-{n}" for n in range(1, 9)]
    started = [process(OPENER, str(folder), *branches) for _ in range(4)]
    for each in started:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    told = [each.communicate(timeout=60)[0].splitlines() for each in started]
    assert [each.returncode for each in started] == [0, 0, 0, 0]
    assert told[0] == told[1] == told[2] == told[3]
    numbers = sorted(int(line.split()[1]) for line in told[0])
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 8]
    for number in numbers:
        record = json.loads((folder / f"{number}.json").read_text())
        said = [comment["text"] for comment in record["comments"]]
        assert said == ["said by all"]


@pytest.mark.parametrize("lines", [1, 4, 9])
def test_a_kill_at_any_moment_leaves_one_pull_request_per_branch(
    forge: LocalForge, folder: Path, lines: int
) -> None:
    branches = [f"task/T-{n}" for n in range(1, 31)]
    opener = process(OPENER, str(folder), *branches)
    assert opener.stdin is not None
    assert opener.stdout is not None
    opener.stdin.write("go\n")
    opener.stdin.flush()
    for _ in range(lines):
        assert opener.stdout.readline()
    opener.send_signal(signal.SIGKILL)
    opener.communicate()
    assert [opened(forge, branch).number for branch in branches] == list(range(1, 31))


def test_a_process_that_dies_with_the_lock_holds_up_nobody(
    forge: LocalForge, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "LOCK_PATIENCE", 0.1)
    holder = process(HOLDER, str(folder))
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    with pytest.raises(ForgeTemporary, match="locked"):
        opened(forge)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert opened(forge).number == 1


def test_what_a_crash_left_behind_is_completed(forge: LocalForge, folder: Path) -> None:
    opened(forge)
    (folder / "1.md").unlink()
    (folder / f"1.md.{os.getpid()}").write_text("half a pa")
    (folder / "2.json.4242").write_text('{"number": 2')
    assert opened(forge).number == 1
    assert (folder / "1.md").read_text().startswith("# Add a login")
    assert opened(forge, "task/T-2").number == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "damaged"),
        ('{"number": 1', "damaged"),
        ('{"number": 2, "branch": "b", "base": "main"}', "damaged"),
        ("[]", "damaged"),
    ],
)
def test_a_damaged_record_is_never_passed_over(
    forge: LocalForge, folder: Path, text: str, message: str
) -> None:
    opened(forge)
    (folder / "1.json").write_text(text)
    for branch in ("task/T-1", "task/T-2"):
        with pytest.raises(ForgeError, match=message) as caught:
            opened(forge, branch)
        assert "1.json" in str(caught.value)


def test_a_record_under_another_number_is_damaged(forge: LocalForge, folder: Path) -> None:
    opened(forge)
    (folder / "7.json").write_bytes((folder / "1.json").read_bytes())
    with pytest.raises(ForgeError, match=r"7\.json is damaged: it says .* pull request 1"):
        opened(forge)


def test_files_that_lead_elsewhere_are_refused(forge: LocalForge, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("private")
    folder = tmp_path / "pulls"
    folder.mkdir()
    (folder / "1.json").symlink_to(secret)
    with pytest.raises(ForgeError, match="cannot be read"):
        opened(forge)
    (folder / "1.json").unlink()
    (folder / "1.md").symlink_to(secret)
    assert opened(forge).number == 1
    assert secret.read_text() == "private"
    assert not (folder / "1.md").is_symlink()


def test_a_pipe_keeps_nobody_waiting(forge: LocalForge, folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "1.json")
    with pytest.raises(ForgeError):
        opened(forge)


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "pulls").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ForgeError, match="is a link"):
        opened(LocalForge(str(tmp_path / "pulls")))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_numbers_never_start_again(forge: LocalForge, folder: Path) -> None:
    opened(forge)
    record = json.loads((folder / "1.json").read_text())
    record |= {"number": 999_999_999, "branch": "planted"}
    (folder / "999999999.json").write_text(json.dumps(record))
    with pytest.raises(ForgeError, match="no number left"):
        opened(forge, "task/T-2")


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ForgeError, match="cannot keep pull requests"):
        opened(LocalForge(str(tmp_path / "file" / "pulls")))

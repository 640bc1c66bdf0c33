"""The gates secrets and diff_limits look at the commit, all of it, and not at what lies around."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.config.types import Agent
from tests.integration.gates_rig import Desk
from tests.integration.repository_rig import Place

if TYPE_CHECKING:
    from pathlib import Path

# Made up, in the shape of a real one; put together so that no scanner takes this file for a leak.
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3jK5"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    place = Place(tmp_path)
    place.begin()
    return Desk(place)


def leak(desk: Desk) -> str:
    """What the gate says of a credential, which it never shows."""
    answer = desk.ask("secrets")
    assert answer.status == "failure"
    assert not any(TOKEN[i : i + 8] in repr(answer) for i in range(len(TOKEN) - 8))
    return answer.message


def put(desk: Desk, name: str, content: bytes) -> None:
    (desk.tree / name).write_bytes(content)
    desk.git("add", "--all")
    desk.git("commit", "--quiet", "--message", "put")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_in_wide_letters_is_looked_into(desk: Desk, encoding: str) -> None:
    put(desk, "keys.txt", f"it is\n{TOKEN}\n".encode(encoding))
    assert "keys.txt: github-token" in leak(desk)
    if encoding == "utf-16":  # a name and a value are told where it says that it is text
        put(desk, "more.txt", "db_password = 'x9Kq2vLw8RtZ4mNp'\n".encode(encoding))
        assert "more.txt: assigned-secret" in leak(desk)
    if encoding == "utf-16-le":
        put(desk, ".gitattributes", b"*.txt diff\n")
        assert "keys.txt:2: github-token" in leak(desk)


def test_names_links_and_messages_are_looked_into(desk: Desk) -> None:
    (desk.tree / "link").symlink_to(f"/x/{TOKEN}")
    put(desk, f"{TOKEN}.txt", b"x\n")
    desk.git("commit", "--quiet", "--allow-empty", "--message", f"Say\n\nit is {TOKEN}")
    told = leak(desk)
    assert "link:1: github-token" in told
    assert "a file's name: github-token (not shown)" in told
    assert f"message of {desk.git('rev-parse', 'HEAD')[:12]}: github-token" in told


def test_a_file_that_is_changed_while_it_is_judged_changes_nothing(desk: Desk) -> None:
    put(desk, ".gitattributes", b"*.txt binary\n")
    put(desk, "notes.txt", f"it is {TOKEN}\n".encode())
    (desk.tree / "notes.txt").write_text("harmless\n")
    assert "notes.txt:1: github-token" in leak(desk)
    answer = desk.ask("diff_limits", {"bytes": 30})
    assert "bytes in changed files" in answer.message


def test_a_mark_of_byte_order_hides_nothing(desk: Desk) -> None:
    put(desk, "keys.txt", b"\xff\xfe\0 " + TOKEN.encode())
    assert "keys.txt: github-token" in leak(desk)


def test_a_file_that_cannot_be_looked_into_does_not_pass(desk: Desk) -> None:
    name = b"\xff.bin".decode("utf-8", "surrogateescape")
    put(desk, name, b"\0" + TOKEN.encode())
    answer = desk.ask("secrets")
    assert answer.status == "failure"
    assert "could not be checked" in answer.message


def test_a_gatekeeper_that_changes_what_steers_git_approves_nothing(desk: Desk) -> None:
    put(desk, "work", b"done\n")
    plants = f"git config core.hooksPath /nowhere; touch {desk.place.root}/.git/hooks/pre-push"
    verdict = '{"verdict": "approve", "summary": "Fine."}'
    desk.agents = {"qa": Agent(driver="command", command=f"{plants}; echo '{verdict}'")}
    answer = desk.ask("gatekeeper", ["qa"])
    assert (answer.status, answer.remediation_prompt) == ("failure", None)
    assert "core.hookspath in config, hooks/pre-push" in answer.message
    assert desk.ask("gatekeeper", ["qa"]).status == "success"  # nothing is changed any more

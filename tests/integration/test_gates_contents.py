"""The gates secrets and diff_limits, on real diffs of real commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.errors import HookFailure
from tests.integration.gates_rig import Desk
from tests.integration.repository_rig import Place

if TYPE_CHECKING:
    from pathlib import Path

# Made up, in the shape of real ones; put together so that no scanner takes this file for a leak.
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3jK5"
AWS = "AKIA" + "Q3EGRIOSF5DNN7TQ"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    place = Place(tmp_path)
    place.begin()
    place.commit("old.env", f"TOKEN={TOKEN}\n")
    return Desk(place)


# secrets


def test_clean_work_passes_whatever_was_there_before(desk: Desk) -> None:
    desk.work("old.env", "")
    desk.work("a.py", "token = os.environ['TOKEN']\n")
    answer = desk.ask("secrets")
    assert answer.status == "success"
    assert answer.message == "no credentials (files: 2, added lines: 1)"


def test_a_credential_is_told_by_place_and_kind_and_never_shown(desk: Desk) -> None:
    desk.work("src/a.py", f"x = 1\n\nKEY = '{TOKEN}'\n")
    answer = desk.ask("secrets")
    assert answer.status == "failure"
    assert "src/a.py:3: github-token, 40 characters" in answer.message
    assert "src/a.py:3" in (answer.remediation_prompt or "")
    whole = repr(answer)
    assert not any(TOKEN[i : i + 8] in whole for i in range(len(TOKEN) - 8))


def test_lines_are_numbered_as_they_are_in_the_file(desk: Desk) -> None:
    desk.place.commit("b.txt", "".join(f"line {n}\n" for n in range(1, 41)))
    desk.ask("rebase_on_main")
    lines = [f"line {n}\n" for n in range(1, 41)]
    lines[4:4] = ["new\n"]
    lines[31:31] = ["+++ b/pretended.txt\n", f"aws {AWS}\n"]
    desk.work("b.txt", "".join(lines))
    number = lines.index(f"aws {AWS}\n") + 1
    assert f"b.txt:{number}: aws-access-key" in desk.ask("secrets").message


def test_files_and_kinds_can_be_allowed(desk: Desk) -> None:
    desk.work("tests/data/key.txt", TOKEN)
    assert desk.ask("secrets").status == "failure"
    assert desk.ask("secrets", ["tests/data/**"]).status == "success"
    assert desk.ask("secrets", {"ignore": ["github-token"]}).status == "success"
    assert desk.ask("secrets", {"allow": ["docs/**"]}).status == "failure"


def test_a_file_that_is_declared_binary_is_looked_into(desk: Desk) -> None:
    desk.work(".gitattributes", "*.txt binary\n")
    desk.work("notes.txt", f"it is {TOKEN}\n")
    answer = desk.ask("secrets")
    assert answer.status == "failure"
    assert "notes.txt:1: github-token" in answer.message


def test_names_that_git_quotes_are_shown_as_they_are(desk: Desk) -> None:
    desk.work('ünï "x".env', f"{TOKEN}\n")
    assert 'ünï "x".env:1: github-token' in desk.ask("secrets").message


def test_a_diff_that_is_too_long_is_not_waved_through(desk: Desk) -> None:
    desk.work("generated.js", "var x = 1;\n" * 900_000)
    answer = desk.ask("secrets")
    assert answer.status == "failure"
    assert "too long" in answer.message
    assert "generated" in (answer.remediation_prompt or "")


# diff_limits


def test_work_within_its_limits_passes(desk: Desk) -> None:
    desk.work("a.txt", "one\ntwo\n")
    limits = {"files": 1, "lines": 2, "bytes": 8, "forbid": ["*.lock"]}
    answer = desk.ask("diff_limits", limits)
    assert (answer.status, answer.message) == ("success", "within the limits (changed files: 1)")


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"files": 1}, "2 changed files, and at most 1 are allowed"),
        ({"lines": 3}, "4 changed lines, and at most 3 are allowed"),
        ({"bytes": 13}, "14 bytes in changed files, and at most 13 are allowed"),
        ({"forbid": [".github/**"]}, ".github/ci.yml must not change"),
        (
            {"files": 0, "forbid": [".github/"]},
            "2 changed files, and at most 0 are allowed; .github/ci.yml must not change",
        ),
    ],
)
def test_each_limit_is_told_with_its_figures(
    desk: Desk, limits: dict[str, object], message: str
) -> None:
    desk.work("a.txt", "one\ntwo\n")
    desk.work(".github/ci.yml", "on\npr\n")
    answer = desk.ask("diff_limits", limits)
    assert (answer.status, answer.message) == ("failure", message)
    assert answer.remediation_prompt is not None


def test_removing_and_renaming_forbidden_files_counts(desk: Desk) -> None:
    desk.git("mv", "readme", "README")
    desk.git("commit", "--quiet", "--message", "renamed")
    assert desk.ask("diff_limits", {"forbid": ["readme"]}).message == "readme must not change"
    assert desk.ask("diff_limits", 2).status == "success"
    assert desk.ask("diff_limits", 1).status == "failure"


@pytest.mark.parametrize(
    ("place", "pattern"),
    [
        ("deploy", "deploy/**"),
        ("deploy", "deploy/"),
        ("deploy", "./deploy/prod/*.yml"),
        ("a/b/deploy", "**/deploy/*"),
    ],
)
def test_a_link_does_not_take_the_place_of_a_forbidden_folder(
    desk: Desk, place: str, pattern: str
) -> None:
    desk.work("other/run.sh", "echo\n")
    link = desk.tree / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to("other")
    desk.git("add", "--all")
    desk.git("commit", "--quiet", "--message", "linked")
    answer = desk.ask("diff_limits", {"forbid": [pattern]})
    assert (answer.status, answer.message) == ("failure", f"{place} must not change")
    others = {"forbid": ["*/**/deploy/**", "x/deploy/**", "deploy.d/**", "*.lock"]}
    assert desk.ask("diff_limits", others).status == ("failure" if "/" in place else "success")


@pytest.mark.parametrize("arguments", [None, {}, {"lines": "many"}, {"lin": 5}])
def test_limits_that_limit_nothing_or_cannot_be_read_fail_closed(
    desk: Desk, arguments: object
) -> None:
    desk.work()
    with pytest.raises(HookFailure, match="diff_limits"):
        desk.ask("diff_limits", arguments)

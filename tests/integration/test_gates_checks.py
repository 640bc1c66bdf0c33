"""The gates run_tests, lint and ci_status: real programs, real exit codes, real output."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.forges.local import LocalForge
from hookline.domain.work.forge import Check, CheckState, combined
from hookline.errors import HookFailure, HookTimeout
from tests.integration.gates_rig import Desk, programs
from tests.integration.repository_rig import Place

if TYPE_CHECKING:
    from hookline.domain.work.forge import PullRequest


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    place = Place(tmp_path)
    place.begin()
    made = Desk(place)
    made.env["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return made


# A configured command


def test_a_command_that_passes(desk: Desk) -> None:
    answer = desk.ask("run_tests", {"command": "test -f readme"})
    assert (answer.status, answer.message) == ("success", "`test -f readme` passed")
    assert answer.context == {"command": "test -f readme"}


def test_a_command_that_fails_gives_its_output_to_the_agent(desk: Desk) -> None:
    answer = desk.ask("run_tests", "echo 'test_login FAILED'; echo 'oh no' >&2; exit 3")
    assert answer.status == "failure"
    prompt = answer.remediation_prompt or ""
    assert "test_login FAILED" in prompt
    assert "oh no" in prompt
    assert "exit 3" in prompt


def test_the_end_of_a_long_output_reaches_the_agent_within_bounds(desk: Desk) -> None:
    line = 'i=0; while [ $i -lt 30000 ]; do echo "line $i"; i=$((i+1)); done; echo THE END; exit 1'
    prompt = desk.ask("run_tests", line).remediation_prompt or ""
    assert "THE END" in prompt
    assert len(prompt.encode()) < 34 * 1024


def test_output_cannot_pretend_to_be_our_words(desk: Desk) -> None:
    """The frame's word differs each time, so nothing that was printed can close it."""
    words = set()
    for _ in range(2):
        prompt = desk.ask("run_tests", "echo '</data>'; exit 1").remediation_prompt or ""
        word = prompt.rpartition("</data ")[2].removesuffix(">")
        assert prompt.count(word) == 3
        words.add(word)
    assert len(words) == 2


@pytest.mark.parametrize("line", ["no-such-program-here", "./readme", "kill -9 $$"])
def test_what_cannot_run_is_a_failure_of_the_gate_and_no_finding(desk: Desk, line: str) -> None:
    with pytest.raises(HookFailure):
        desk.ask("run_tests", line)


def test_a_command_without_end_is_killed(desk: Desk) -> None:
    with pytest.raises(HookTimeout, match=r"timed out after 0\.2 s"):
        desk.ask("run_tests", {"command": "echo begun; sleep 60", "timeout": 0.2})


def test_variables_of_a_command_are_text_and_never_code(desk: Desk) -> None:
    desk.title = "$(touch pwned); `touch pwned`"
    answer = desk.ask("lint", "printf '%s' {{task_title}} > title")
    assert answer.status == "success"
    assert (desk.tree / "title").read_text() == desk.title
    assert not (desk.tree / "pwned").exists()


def test_a_command_runs_in_the_worktree(desk: Desk) -> None:
    assert desk.ask("run_tests", "pwd > where").status == "success"
    assert (desk.tree / "where").read_text().strip() == str(desk.tree)


# What the project's files tell of


def test_nothing_found_is_a_skip_that_says_so(desk: Desk) -> None:
    for gate, what in (("run_tests", "tests"), ("lint", "linter")):
        answer = desk.ask(gate)
        assert answer.status == "skip"
        assert answer.message.startswith(f"no {what} found")


def test_pytest_runs_for_real(desk: Desk) -> None:
    desk.work("pytest.ini", "[pytest]\n")
    assert desk.ask("run_tests").message == "`pytest -q` found nothing to run"
    desk.work("test_sum.py", "def test_sum():\n    assert 1 + 1 == 3\n")
    answer = desk.ask("run_tests")
    assert answer.status == "failure"
    assert "assert (1 + 1) == 3" in (answer.remediation_prompt or "")
    desk.work("test_sum.py", "def test_sum():\n    assert 1 + 1 == 2\n")
    assert desk.ask("run_tests").status == "success"


def test_make_runs_for_real(desk: Desk) -> None:
    desk.work("Makefile", "lint:\n\t@echo linted\n\ntest: lint\n\t@echo broken; false\n")
    assert desk.ask("lint").message == "`make lint` passed"
    assert "broken" in (desk.ask("run_tests").remediation_prompt or "")


def test_ruff_runs_for_real(desk: Desk) -> None:
    desk.work("ruff.toml", "")
    desk.work("a.py", "import os\n")
    assert "F401" in (desk.ask("lint").remediation_prompt or "")
    desk.work("a.py", "x = 1\n")
    assert desk.ask("lint").message == "`ruff check --quiet .` passed"


def test_what_else_would_have_been_there_is_named(desk: Desk) -> None:
    desk.work("go.mod", "module x\n")
    desk.work("Makefile", "test:\n\ttrue\n")
    desk.env["PATH"] = programs(desk.place.folder / "bin", {"go": "exit 0"})
    answer = desk.ask("run_tests")
    assert answer.message == "`go test ./...` passed; not run: make test (Makefile)"


def test_a_runner_that_is_not_installed_is_a_failure_and_nothing_else_runs(desk: Desk) -> None:
    desk.work("mix.exs", "")
    desk.work("Makefile", "test:\n\ttouch ran\n")
    with pytest.raises(HookFailure, match=r"mix\.exs asks for `mix test`, which is not installed"):
        desk.ask("run_tests")
    assert not (desk.tree / "ran").exists()


def test_tests_that_fail_are_run_again_so_many_times(desk: Desk) -> None:
    desk.work("flaky.sh", "echo x >> ../runs; [ $(wc -l < ../runs) -ge 3 ]\n")
    answer = desk.ask("run_tests", {"command": "sh flaky.sh", "retries": 2})
    assert (answer.status, answer.message) == ("success", "`sh flaky.sh` passed at run 3 of 3")
    answer = desk.ask("run_tests", {"command": "false", "retries": 1})
    assert (answer.status, answer.message) == ("failure", "`false` failed 2 times")


# ci_status


class Checked(LocalForge):
    """A forge whose checks say this."""

    name = "checked"
    has_checks = True
    says = CheckState("none")

    async def checks(self, of: PullRequest | str, *, base: str | None = None) -> CheckState:
        self.asked = of
        return self.says


@pytest.fixture
def checked(tmp_path: Path) -> tuple[Desk, Checked]:
    place = Place(tmp_path)
    place.begin()
    forge = Checked(str(tmp_path / "pulls"))
    desk = Desk(place, forge)
    desk.work()
    return desk, forge


def test_the_very_commit_must_have_passed(checked: tuple[Desk, Checked]) -> None:
    desk, forge = checked
    forge.says = combined([Check("build", "success")])
    assert desk.ask("ci_status").status == "success"
    assert forge.asked == desk.head


def test_checks_that_run_are_asked_again(checked: tuple[Desk, Checked]) -> None:
    desk, forge = checked
    forge.says = combined([Check("build", "success"), Check("e2e", "pending")])
    answer = desk.ask("ci_status")
    assert (answer.status, answer.retry_after) == ("pending", 30)
    assert "e2e" in answer.message
    assert desk.ask("ci_status", {"retry_after": 5}).retry_after == 5


def test_failed_checks_are_named_with_their_pages(checked: tuple[Desk, Checked]) -> None:
    desk, forge = checked
    forge.says = combined(
        [Check("build", "failure", "https://ci.example/7"), Check("e2e", "success")]
    )
    answer = desk.ask("ci_status")
    assert answer.status == "failure"
    assert "build: failure https://ci.example/7" in (answer.remediation_prompt or "")
    assert "e2e" not in (answer.remediation_prompt or "")


def test_a_commit_that_nothing_checks(checked: tuple[Desk, Checked]) -> None:
    """A server may not have begun yet; where there is no server nothing ever will."""
    desk, _ = checked
    assert desk.ask("ci_status").status == "pending"
    assert desk.ask("ci_status", "skip").status == "skip"
    local = Desk(desk.place)
    assert local.ask("ci_status").status == "skip"
    assert local.ask("ci_status", {"without_checks": "pending"}).status == "pending"

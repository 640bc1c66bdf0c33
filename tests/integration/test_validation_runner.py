"""Validation rules at work: real programs, real files, and every way in which a rule can fail."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.sessions.validation import RuleFinding, rules_from
from hookline.domain.text.cleaning import Cleaner
from hookline.hooks.validation import ValidationWorld, validate
from tests.integration.test_process import none_left

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.ports.processes import ProcessGroup


class Project:
    """A folder in which rules are run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.groups: list[ProcessGroup] = []
        self.mark = str(root)
        self.environ = {
            "PATH": os.environ["PATH"],
            "API_TOKEN": "s3cret-value",
            "RUN_BY": self.mark,
        }
        if "PYTHONPATH" in os.environ:
            self.environ["PYTHONPATH"] = os.environ["PYTHONPATH"]

    def put(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    async def run(
        self, *rules: dict[str, Any], said: str = "", at_once: int = 4
    ) -> list[RuleFinding]:
        world = ValidationWorld(
            str(self.root),
            LocalProcesses(str(self.root / ".blobs"), Cleaner(self.environ)),
            self.environ,
            self.groups.append,
        )
        found = await validate(rules_from(rules), world, said, at_once=at_once)
        assert all(isinstance(each, RuleFinding) for each in found)
        return [each for each in found if isinstance(each, RuleFinding)]

    def check(self, kind: str, said: str = "", **keys: Any) -> RuleFinding:
        """What one rule finds."""
        (found,) = asyncio.run(self.run({"name": "it", "type": kind, **keys}, said=said))
        assert found.rule_name == "it"
        assert found.type == kind
        return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)


# Several rules


def test_no_rules_give_no_results(project: Project) -> None:
    assert asyncio.run(project.run()) == []


def test_results_come_in_the_order_of_the_rules(project: Project) -> None:
    project.put("b.txt", "")
    found = asyncio.run(
        project.run(
            {"name": "slow", "type": "command", "command": "while ! [ -e go ]; do :; done"},
            {"name": "there", "type": "file_existence", "files": ["b.txt"]},
            {"name": "quick", "type": "command", "command": "touch go; exit 1"},
        )
    )
    assert [(each.rule_name, each.passed) for each in found] == [
        ("slow", True),
        ("there", True),
        ("quick", False),
    ]


def test_only_so_many_run_at_once(project: Project) -> None:
    """Each rule notes how many run beside it; a folder is made and removed by one at a time."""
    line = "mkdir alone && : > seen.$$ && rmdir alone"
    rules = [{"name": str(number), "type": "command", "command": line} for number in range(5)]
    found = asyncio.run(project.run(*rules, at_once=1))
    assert [each.passed for each in found] == [True] * 5


def test_rules_that_look_wait_for_those_that_write(project: Project) -> None:
    found = asyncio.run(
        project.run(
            {"name": "there", "type": "file_existence", "files": ["dist/app.js"]},
            {"name": "says", "type": "content_pattern", "pattern": "built", "files": ["dist/*"]},
            {"name": "covered", "type": "coverage", "minimum": 50, "report": "lcov.info"},
            {
                "name": "build",
                "type": "command",
                "command": "mkdir dist && echo built > dist/app.js"
                r" && printf 'SF:a\nDA:1,1\nend_of_record\n' > lcov.info",
            },
        )
    )
    assert [each.passed for each in found] == [True] * 4, found


def test_a_cancelled_validation_leaves_nothing_running(project: Project) -> None:
    async def cancelled() -> None:
        slow = {"type": "command", "command": "sleep 600"}
        task = asyncio.create_task(project.run({"name": "a", **slow}, {"name": "b", **slow}))
        while len(project.groups) < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert none_left(project.mark)


def test_one_who_may_not_start_a_child_hears_of_it(project: Project) -> None:
    """A lease that was lost meanwhile ends the validation; it is no finding."""

    class Lost(Exception):
        """The work belongs to another process now."""

    def refuse(group: ProcessGroup) -> None:
        raise Lost

    world = ValidationWorld(
        str(project.root), LocalProcesses(str(project.root / ".blobs")), project.environ, refuse
    )
    rules = rules_from([{"name": "a", "type": "command", "command": "touch ran; sleep 600"}])
    with pytest.raises(Lost):
        asyncio.run(validate(rules, world))


# Commands


def test_a_command_that_ends_well_passes(project: Project) -> None:
    found = project.check("command", command="pwd; echo fine >&2")
    assert found.passed
    assert found.message == f"exit code 0\n{project.root}\nfine"
    assert (found.exit_code, found.command) == (0, "pwd; echo fine >&2")
    assert found.duration_ms >= 0


def test_a_command_that_fails_tells_what_it_said(project: Project) -> None:
    found = project.check("command", command="echo 2 failed; exit 3")
    assert not found.passed
    assert (found.exit_code, found.message) == (3, "exit code 3\n2 failed")


def test_long_output_is_cut_to_its_end(project: Project) -> None:
    found = project.check("command", command="seq 1 200000; echo the end; exit 1")
    assert found.message is not None
    assert found.message.startswith("exit code 1\n…")
    assert found.message.endswith("\nthe end")
    assert len(found.message) <= 2048


@pytest.mark.parametrize(
    ("command", "code", "why"),
    [
        ("no-such-program-anywhere", 127, "exit code 127, a program was not found"),
        ("./plain.txt", 126, "exit code 126, a program may not be executed"),
        ("kill -9 $$", -9, "killed by signal 9"),
        ("sh -c 'kill -9 $$'; exit $?", 137, "a program was killed by SIGKILL"),
    ],
)
def test_a_command_that_cannot_run_has_not_passed(
    project: Project, command: str, code: int, why: str
) -> None:
    project.put("plain.txt", "")
    found = project.check("command", command=command)
    assert not found.passed
    assert found.message is not None
    assert found.message.startswith("the rule could not run: ")
    assert why in found.message
    assert found.exit_code == code


def test_a_command_without_an_end_is_killed_and_its_words_are_kept(project: Project) -> None:
    found = project.check("command", command="echo begun; sleep 600 & sleep 600", timeout=2)
    assert not found.passed
    assert found.message == ("the rule could not run: timed out after 2 s\nbegun")
    assert none_left(project.mark)


def test_secrets_of_the_environment_are_not_told(project: Project) -> None:
    found = project.check("command", command='echo "$API_TOKEN"; exit 1')
    assert found.message == "exit code 1\n[redacted API_TOKEN]"


# Patterns


@pytest.mark.parametrize(
    ("pattern", "passed"), [("^All \\d+ tests pass", True), ("(?i)ALL 12", True), ("12$", False)]
)
def test_pattern_over_what_the_agent_said(project: Project, pattern: str, passed: bool) -> None:
    found = project.check("content_pattern", said="So:\nAll 12 tests pass.\n", pattern=pattern)
    assert found.passed is passed
    where = "what the agent said"
    assert found.message == (f"found in {where}" if passed else f"no match in {where}")


def test_half_a_character_is_no_obstacle(project: Project) -> None:
    assert project.check("content_pattern", said="\ud800 done", pattern="done").passed


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["a.txt"], "found in a.txt"),
        (["./a.txt", "src/**/*.py"], "found in ./a.txt, src/**/*.py"),
        (["*.py"], "found in *.py"),
        (["a.txt", "b.txt"], "no match in b.txt"),
        (["src/*.py"], "src/*.py does not exist"),
        (["c.txt"], "c.txt does not exist"),
        (["src"], "src does not exist"),
    ],
)
def test_pattern_over_files(project: Project, files: list[str], message: str) -> None:
    project.put("a.txt", "needle\n")
    project.put("b.txt", "hay\n")
    project.put("src/one/x.py", "hay\n")
    project.put("src/two/y.py", "a needle\n")
    found = project.check("content_pattern", pattern="needle", files=files)
    assert found.message == message
    assert found.passed == message.startswith("found")


def test_a_pattern_that_goes_in_circles_is_stopped(project: Project) -> None:
    found = project.check("content_pattern", said="a" * 64, pattern="(a+)+$|(a|aa)+b", timeout=1)
    assert found.passed
    found = project.check("content_pattern", said="a" * 64 + "!", pattern="^(a+)+$", timeout=1)
    assert not found.passed
    assert found.message == "the rule could not run: timed out after 1 s"


def test_modules_of_the_project_do_not_reach_the_search(project: Project) -> None:
    project.put("json.py", "raise SystemExit(1)")
    project.put("re.py", "raise SystemExit(1)")
    assert project.check("content_pattern", said="done", pattern="done").passed


# Files


@pytest.mark.parametrize(
    ("files", "passed"),
    [
        (["a.txt"], True),
        (["./a.txt"], True),
        (["docs/"], True),
        (["docs/*.md"], True),
        (["**/x.md"], True),
        (["*.md"], True),
        (["a.txt", "b.txt"], False),
        (["docs"], False),
        (["a.txt/"], False),
        (["docs/*.txt"], False),
        (["none/**"], False),
        (["**/config"], False),
        (["a.txt\nb"], False),
        (["x" * 300], False),
    ],
)
def test_files_that_must_be_there(project: Project, files: list[str], passed: bool) -> None:
    project.put("a.txt", "")
    project.put("docs/x.md", "")
    project.put(".git/config", "")
    found = project.check("file_existence", files=files)
    assert found.passed is passed
    assert str(found.message).startswith("found: " if passed else "missing: ")


def test_links_do_not_lead_out_of_the_project(project: Project) -> None:
    outside = project.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("needle")
    (project.root / "folder").symlink_to(outside)
    (project.root / "secret.txt").symlink_to(outside / "secret.txt")
    (project.root / "loop").symlink_to("loop")
    for name in ("folder/secret.txt", "secret.txt", "*.txt", "folder/*", "folder/", "loop"):
        assert not project.check("file_existence", files=[name]).passed
        assert not project.check("content_pattern", pattern="needle", files=[name]).passed
    report = r"printf 'SF:a\nDA:1,1\nend_of_record\n' > ../outside/lcov.info"
    found = project.check("coverage", command=report, report="folder/lcov.info", minimum=1)
    assert not found.passed


def test_a_link_within_the_project_is_followed(project: Project) -> None:
    project.put("a.txt", "needle")
    (project.root / "b.txt").symlink_to("a.txt")
    assert project.check("content_pattern", pattern="needle", files=["b.txt"]).passed


def test_what_is_no_file_is_not_waited_for(project: Project) -> None:
    os.mkfifo(project.root / "pipe")
    for kind in ("file_existence", "content_pattern"):
        assert not project.check(kind, pattern="x", files=["pipe"]).passed


# Coverage

REPORT = {"totals": {"percent_covered": 79.999, "num_statements": 9}}


@pytest.mark.parametrize(("minimum", "passed"), [(79, True), (79.99, True), (80, False)])
def test_coverage_is_compared_with_the_minimum(
    project: Project, minimum: float, passed: bool
) -> None:
    project.put("cov/out.json", json.dumps(REPORT))
    found = project.check("coverage", report="cov/out.json", minimum=minimum)
    assert found.passed is passed
    assert found.message == (
        f"79.99 % of the lines are covered, at least {minimum:g} % are required (cov/out.json)"
    )


def test_a_usual_report_is_found_by_itself(project: Project) -> None:
    project.put("coverage.json", json.dumps(REPORT))
    assert project.check("coverage", minimum=50).passed


def test_the_command_makes_the_report(project: Project) -> None:
    project.put("source.json", json.dumps(REPORT))
    found = project.check("coverage", command="cp source.json coverage.json", minimum=50)
    assert found.passed
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"report": "none.xml"}, "none.xml does not exist"),
        ({}, "there is no coverage report: none of coverage.xml, "),
        ({"report": "old.json", "command": "true"}, "the command wrote no new old.json"),
        ({"command": "true"}, "the command wrote no new coverage report"),
        ({"report": "old.json", "command": "echo 1 failed; exit 1"}, "exit code 1\n1 failed"),
        ({"report": "old.json", "command": "rm old.json"}, "the command wrote no new old.json"),
        ({"report": "bad.json"}, "the coverage report is not one of coverage.py"),
        ({"report": "old.json", "command": "no-such-program"}, "the rule could not run: "),
    ],
)
def test_coverage_without_a_fresh_whole_report_fails(
    project: Project, keys: dict[str, str], message: str
) -> None:
    project.put("old.json", json.dumps(REPORT))
    project.put("bad.json", "{}")
    found = project.check("coverage", minimum=1, **keys)
    assert not found.passed
    assert str(found.message).startswith(message)


# Functions

CHECKS = """
def yes(payload, context):
    return True

def no(payload, context):
    print("not an answer")
    return False

async def told(payload, context):
    return {"passed": payload["agentOutput"] == "done", "message": payload["ruleName"]}

def odd(payload, context):
    return "yes"

def broken(payload, context):
    raise ValueError("so wrong")

def silent(payload, context):
    import os
    os._exit(0)
"""


@pytest.mark.parametrize(
    ("function", "passed", "message"),
    [
        ("yes", True, "checks:yes says yes"),
        ("no", False, "checks:no says no"),
        ("told", True, "it"),
        ("odd", False, "the rule could not run: checks:odd must return True, False or "),
        ("broken", False, "the rule could not run: ValueError: so wrong"),
        ("silent", False, "the rule could not run: checks:silent ended with exit code 0"),
        ("gone", False, "the rule could not run: there is no 'gone' in what checks:gone names"),
    ],
)
def test_function_judges(project: Project, function: str, passed: bool, message: str) -> None:
    project.put("checks.py", CHECKS)
    found = project.check("custom", said="done", python=f"checks:{function}")
    assert (found.passed, str(found.message)[: len(message)]) == (passed, message)


def test_what_was_raised_is_told_once(project: Project) -> None:
    project.put("checks.py", CHECKS)
    message = str(project.check("custom", python="checks:broken").message)
    assert message.count("so wrong") == 2  # as the error, and in the line that raises it
    assert "checks.py" in message
    assert '"error"' not in message


def test_a_function_without_an_end_is_killed(project: Project) -> None:
    project.put("checks.py", "def hang(payload, context):\n    while True: pass\n")
    found = project.check("custom", python="checks:hang", timeout=1)
    assert found.message == "the rule could not run: timed out after 1 s"


def test_findings_have_the_names_that_hooks_know(project: Project) -> None:
    found = project.check("command", command=f"{sys.executable} -c 'raise SystemExit(2)'")
    told = msgspec.to_builtins(found)
    assert told.keys() == {
        *("ruleName", "passed", "message", "type"),
        *("command", "exitCode", "durationMs", "coverage"),
    }

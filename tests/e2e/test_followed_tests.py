"""Tests that an agent may edit: the session goes on, people see it, and gates run the old ones."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.prompt_rig import check_prompt
from tests.e2e.report_file import ReportFile
from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

TEST = "from one import one\n\n\ndef test_one():\n    assert one() == 1\n"
WEAK = "def test_one():\n    pass\n"
LINE = "pytest -q -p no:cacheprovider test_one.py"
RUNS_BELOW = "pytest -q -p no:cacheprovider tests/test_one.py"


@pytest.fixture
def project(cli: Cli) -> Rig:
    """A project with a test that fails, and whose rule names its file."""
    _runner_on_path(cli)
    cli.put("one.py", "def one():\n    return 2\n")
    cli.put("test_one.py", TEST)
    cli.put(".gitignore", "__pycache__/\n")
    rig = Rig(cli)
    rig.repository()
    return rig


def _runner_on_path(cli: Cli) -> None:
    """`pytest` is the one of these tests."""
    folder = cli.root.parent / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "pytest"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m pytest "$@"\n')
    program.chmod(0o755)
    cli.env["PATH"] = f"{folder}:{cli.env['PATH']}"


def rules(*, follow: bool) -> list[dict[str, Any]]:
    return [{"name": "tests", "type": "command", "command": LINE, "follow": follow}]


EDIT = f"cat > test_one.py <<'E'\n{WEAK}E\n{PROMISE}"


def test_an_edited_test_parks_the_session_unless_its_rule_follows(cli: Cli, project: Rig) -> None:
    project.turns(EDIT)
    project.configure({"stop": ["evidence"]}, validation=rules(follow=False))
    shown = cli("check")
    assert "test_one.py  (rule tests)" in shown.stdout
    assert cli.json("check")["frozen"] == [{"name": "test_one.py", "use": "rule tests"}]
    done = cli("run", "do it", "--name", "s", "--agent", "bot", "--iterations", "2")
    assert done.code == 4
    assert done.stderr.startswith("frozen by trust: test_one.py;")
    assert "test_one.py changed since it was verified" in done.stderr
    (prompt,) = project.prompts()
    assert "- hookline.yaml, and what it names: `test_one.py`, unless" in prompt.text


def test_a_followed_test_may_be_edited_and_people_see_it(cli: Cli, project: Rig) -> None:
    project.turns(EDIT)
    project.configure({"stop": ["evidence"]}, validation=rules(follow=True))
    assert cli.json("check")["frozen"] == []
    done = project.run()
    proof = "Proven: tests passed on a diff of 1 file; edited tests: test_one.py (+1 -4)"
    assert done.said == (0, "completed", proof)
    journal = cli.json("flow", "journal", "R-1")
    (edited,) = re.findall(r'"editedTests": (\[[^]]*\])', json.dumps(journal))
    assert json.loads(edited) == [{"path": "test_one.py", "added": 1, "removed": 4}]


def test_the_report_lists_the_tests_that_were_edited(cli: Cli, project: Rig) -> None:
    project.turns(EDIT)
    project.configure({"stop": ["evidence"]}, validation=rules(follow=True))
    assert project.run().code == 0
    page = ReportFile(cli("session", "report", "s", "--output", "-").stdout)
    (edited,) = page.session["proof"]["editedTests"]
    assert edited == {"path": "test_one.py", "added": 1, "removed": 4}
    assert "edited tests: test_one.py (+1 -4)" in cli("report", "--markdown").stdout


def test_check_warns_of_a_rule_that_follows_nothing(cli: Cli, project: Rig) -> None:
    rule = {"name": "tests", "type": "command", "command": "sh test.sh", "follow": True}
    project.configure(validation=[rule])
    (problem,) = cli.json("check")["problems"]
    assert (problem["code"], problem["severity"]) == ("follow", "warning")


def test_follow_covers_nothing_but_test_files(cli: Cli, project: Rig) -> None:
    cli.put("conftest.py", "")
    line = f"{LINE} conftest.py"
    project.turns(f"echo 'x = 1' > conftest.py; echo y > z; {PROMISE}")
    rule = {"name": "tests", "type": "command", "command": line, "follow": True}
    project.configure({"stop": ["evidence"]}, validation=[rule])
    assert [each["name"] for each in cli.json("check")["frozen"]] == ["conftest.py"]
    assert cli("run", "do it", "--agent", "bot", "--iterations", "1").code == 4


def test_gates_run_the_tests_of_the_base_as_well(cli: Cli) -> None:
    _runner_on_path(cli)
    line = Pipeline(cli)
    cli.put("one.py", "def one():\n    return 1\n")
    cli.put("test_one.py", TEST)
    cli.put(".gitignore", "__pycache__/\n")
    settings = "gates: {tries: 2, test: 'true'}\nvalidation: " + json.dumps(rules(follow=True))
    line.begin(f"{settings}\n", remote=False)
    cli.put("../weak", WEAK)
    weaken = "echo 'def one(): return 2' > one.py; cp \"$HOOKLINE_PROJECT/../weak\" test_one.py"
    line.turn(f'if [ "$n" = 1 ]; then {weaken}; else echo "def one(): return 1" > one.py; fi\n')
    task = cli.add("change one")
    assert line.worker()["merged"] == [task]
    first, second = line.prompts(task)
    assert "Your work edits tests that check it: `test_one.py`" in second
    printed = re.sub(r"(?s)(<data \w+>\n).*(?=</data)", r"\1(what pytest printed)\n", second)
    check_prompt(cli, "fix-earlier-tests", printed)
    assert "test_one.py" not in first.partition("# What done means")[0]
    (pull,) = (cli.root / ".hookline/pulls").glob("*.md")
    text = pull.read_text()
    assert "## Edited tests" in text
    assert "- test_one.py: +1 -4" in text


PASSES = "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n"
IGNORES = "[pytest]\naddopts = --co\n"


@pytest.mark.examples(1)
@pytest.mark.parametrize(("name", "text"), [("conftest.py", PASSES), ("pytest.ini", IGNORES)])
def test_what_steers_the_runner_is_an_edited_test(
    cli: Cli, project: Rig, name: str, text: str
) -> None:
    project.turns(f"cat > {name} <<'E'\n{text}E\n{PROMISE}")
    project.configure({"stop": ["evidence"]}, validation=rules(follow=True))
    proof = f"Proven: tests passed on a diff of 1 file; edited tests: {name} (+2 -0)"
    assert project.run().said == (0, "completed", proof)


@pytest.mark.torture
@pytest.mark.examples(1)
@pytest.mark.parametrize("was_there", [False, True])
@pytest.mark.parametrize(("name", "text"), [("conftest.py", PASSES), ("pytest.ini", IGNORES)])
def test_gates_run_tests_without_what_steers_their_runner(
    cli: Cli, name: str, text: str, was_there: bool
) -> None:
    _runner_on_path(cli)
    line = Pipeline(cli)
    cli.put("one.py", "def one():\n    return 1\n")
    cli.put("tests/test_one.py", TEST)
    if was_there:
        cli.put(f"tests/{name}", "[pytest]\n" if name == "pytest.ini" else "")
    cli.put(".gitignore", "__pycache__/\n")
    rule = {**rules(follow=True)[0], "command": RUNS_BELOW}
    line.begin(
        f"gates: {{tries: 0, test: 'true'}}\nvalidation: {json.dumps([rule])}\n", remote=False
    )
    cli.put("../text", text)
    steer = f'cp "$HOOKLINE_PROJECT/../text" tests/{name}'
    line.turn(f"echo 'def one(): return 2' > one.py; {steer}\n")
    task = cli.add("change one")
    cli("work", "--once")
    assert (line.merges(), cli.task(task)["state"]) == ([], "needs_continuation")
    assert f"with tests/{name} as in main" in cli("task", "show", task).stdout


def test_new_tests_may_come_with_what_they_need(cli: Cli) -> None:
    _runner_on_path(cli)
    line = Pipeline(cli)
    cli.put(".gitignore", "__pycache__/\n")
    rule = {**rules(follow=True)[0], "command": RUNS_BELOW}
    line.begin(
        f"gates: {{tries: 0, test: 'true'}}\nvalidation: {json.dumps([rule])}\n", remote=False
    )
    cli.put("../new/conftest.py", "import pytest\n\n\n@pytest.fixture\ndef two(): return 2\n")
    cli.put("../new/test_one.py", "def test_two(two):\n    assert two == 2\n")
    line.turn('cp -R "$HOOKLINE_PROJECT/../new" tests\n')
    task = cli.add("add tests")
    assert line.worker()["merged"] == [task]


@pytest.mark.torture
def test_a_person_can_pass_work_that_changes_what_is_right(cli: Cli) -> None:
    _runner_on_path(cli)
    line = Pipeline(cli)
    cli.put("one.py", "def one():\n    return 1\n")
    cli.put("test_one.py", TEST)
    cli.put(".gitignore", "__pycache__/\n")
    settings = "gates: {tries: 0, test: 'true'}\nvalidation: " + json.dumps(rules(follow=True))
    line.begin(f"{settings}\n", remote=False)
    two = TEST.replace("== 1", "== 2")
    line.turn(f"echo 'def one(): return 2' > one.py\ncat > test_one.py <<'E'\n{two}E\n")
    task = cli.add("let one be two")
    cli("work", "--once")
    assert cli.task(task)["state"] == "needs_continuation"
    reason = "the goal says so"
    assert cli("gate", "override", task, "earlier_tests", "--reason", reason).code == 0
    assert cli("submit", task).code == 0
    assert cli.task(task)["state"] == "completed"

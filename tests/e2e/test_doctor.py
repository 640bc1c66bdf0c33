"""`hookline doctor`: what is well, what is broken, and the controls that must be blocked."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.hooks.answers import GateAnswer, StopDecision
from hookline.domain.sessions import promises
from hookline.hooks import rules
from hookline.hooks.builtin.stop import templates as stop_templates
from hookline.hooks.language import templates
from hookline.hooks.shell import words as shellwords
from hookline.queries.doctor import controls as doctor_controls
from hookline.queries.doctor.checks import ok
from hookline.surfaces.cli.project import doctor
from hookline.trust.book import TrustBook, TrustVerdict
from tests.e2e.first_run import Place

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.conftest import Cli

CONTROLS = {
    *("untrusted hook", "injection", "nested shell", "closed gate"),
    *("guard", "stop hook", "promise", "link-local", "timeout"),
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def busy(place: Place) -> Place:
    """A project with a hook, tasks, dependencies and finished work."""
    place.ok("init")
    place.configure(
        "version: 1\nhooks:\n  task_completed:\n"
        "    - {name: journal, command: 'echo {{task_id}} >> journal.txt', timeout: 10}\n"
    )
    place.ok("trust", "--yes")
    place.ok("task", "add", "First", "--label", "agent")
    place.ok("task", "add", "Second", "--depends-on", "T-1")
    place.ok("task", "add", "Third", "--depends-on", "T-2")
    place.ok("task", "complete", "T-1")
    return place


def examine(
    place: Place, *, controls: bool = False, **options: Any
) -> tuple[int, dict[str, dict[str, Any]]]:
    """What the doctor says; the controls take most of its time and look at no project."""
    with pytest.MonkeyPatch.context() as patch:
        if not controls:
            patch.setattr(doctor, "control_checks", lambda: iter([ok("controls", "left out")]))
        done = place.hookline("doctor", "--json", **options)
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["ok"] == (done.returncode == 0)
    assert all(each.keys() == {"name", "status", "message", "fix"} for each in report["checks"])
    return done.returncode, {each["name"]: each for each in report["checks"]}


def test_a_healthy_project_passes_every_check(busy: Place) -> None:
    code, checks = examine(busy, controls=True)
    assert code == 0
    troubled = {name for name, each in checks.items() if each["status"] in ("failed", "warning")}
    assert troubled <= {"speed"}
    assert checks.keys() >= CONTROLS
    assert checks["tables"]["message"].startswith("4 tasks")
    shown = busy.ok("doctor")
    assert "✓ log" in shown
    assert "✗" not in shown


def test_outside_a_project_the_machine_and_the_controls_are_checked(place: Place) -> None:
    code, checks = examine(place, controls=True)
    assert code == 0
    assert checks["project"]["status"] == "skipped"
    assert "hookline init" in checks["project"]["fix"]
    assert all(checks[name]["status"] == "ok" for name in CONTROLS)


def _agent(place: Place, name: str, line: str) -> None:
    path = place.programs / name
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def test_agents_are_told_with_their_version_and_how_a_session_can_use_them(place: Place) -> None:
    _agent(place, "claude", f'echo "$@ in $(ls -A)" >> {place.started}; echo "2.1.325 (Claude)"')
    _agent(place, "opencode", "echo 1.18.33 >&2")
    _agent(place, "aider", "echo aider 0.9")
    code, checks = examine(place)
    assert code == 0
    found = {name: each for name, each in checks.items() if name.startswith("agent ")}
    assert [each["status"] for each in found.values()] == ["ok"] * 3
    assert found["agent claude"]["message"] == (
        "2.1.325; login unknown; `run` can use it as {driver: claude-code}"
    )
    assert found["agent opencode"]["message"].startswith("1.18.33; ")
    assert '{driver: acp, command: "opencode acp"}' in found["agent opencode"]["message"]
    assert "driver: command" in found["agent aider"]["message"]
    # It is asked in an empty folder, and not for a turn.
    assert place.started.read_text() == "--version in \nauth status in \n"


@pytest.mark.parametrize("line", ["exit 3", "kill -9 $$", "no-such-program"])
def test_an_agent_that_does_not_start_is_a_warning(place: Place, line: str) -> None:
    _agent(place, "gemini", line)
    code, checks = examine(place)
    assert (code, checks["agent gemini"]["status"]) == (0, "warning")
    message = checks["agent gemini"]["message"]
    assert message.startswith("Gemini CLI cannot be started (`gemini --version` exited ")
    assert "npm install -g @google/gemini-cli" in checks["agent gemini"]["fix"]


def test_codex_without_a_sandbox_is_a_warning(place: Place) -> None:
    _agent(place, "codex", "echo codex-cli 0.166.0")
    _agent(place, "unshare", "exit 1")
    found = examine(place)[1]["agent codex"]
    assert found["status"] == "warning"
    assert "sandbox of Codex cannot work here" in found["message"]
    assert "permissions: full" in found["fix"]
    _agent(place, "unshare", "exit 0")
    assert examine(place)[1]["agent codex"]["status"] == "ok"


def test_a_program_of_the_repository_is_not_taken_for_an_agent(place: Place) -> None:
    (place.root / "claude").write_text("#!/bin/sh\ntouch ran\necho 1.0\n")
    (place.root / "claude").chmod(0o755)
    checks = examine(place, env={"PATH": ".:/usr/bin:/bin"})[1]
    assert checks["agents"]["status"] == "skipped"
    assert not (place.root / "ran").exists()


@pytest.mark.parametrize(
    ("profile", "status", "words"),
    [
        ("driver: claude-code", "warning", "claude was not found"),
        ("driver: codex, permissions: read", "ok", "permissions read; starts codex"),
        ("driver: codex, command: ./own", "ok", "starts ./own"),
        ("driver: codex, env: {PATH: /nowhere}", "warning", "codex was not found"),
        ("driver: acp, command: 'gone acp'", "warning", "gone was not found"),
        ("driver: command, command: 'A=1 codex exec'", "ok", "starts codex"),
        ("driver: command, command: '$AGENT -p'", "ok", "shell line"),
        ("driver: scripted, script: own", "warning", "the script own is not JSON"),
    ],
)
def test_each_profile_is_looked_up_as_a_session_would(
    place: Place, profile: str, status: str, words: str
) -> None:
    _agent(place, "codex", "echo 1.0")
    (place.root / "own").write_text("#!/bin/sh\ntouch ran\n")
    (place.root / "own").chmod(0o755)
    place.configure(f"version: 1\nagents:\n  one: {{{profile}}}\n")
    code, checks = examine(place)
    assert (code, checks["profile one"]["status"]) == (0, status)
    assert words in checks["profile one"]["message"]
    assert not (place.root / "ran").exists()


@pytest.mark.examples(6)
@pytest.mark.parametrize(
    ("statement", "check", "words"),
    [
        (
            "UPDATE tasks SET goal = 'Else' WHERE number = 2",
            "tables",
            "goal of T-2 is 'Else', the log says 'Second'",
        ),
        ("UPDATE tasks SET state = 'ready' WHERE number = 3", "tables", "state of T-3 is 'ready'"),
        ("UPDATE tasks SET labels = '[\"x\"]' WHERE number = 1", "tables", "labels of T-1"),
        ("UPDATE tasks SET unmet = 7 WHERE number = 3", "tables", "T-3 waits for 7 tasks"),
        ("DELETE FROM tasks WHERE number = 3", "tables", "T-3 is missing"),
        (
            "INSERT INTO tasks SELECT 99, state, priority, goal, labels, type, "
            "desired_deliverables, parent, created_at, started_at, completed_at, result, "
            "artifacts, block_reason, required_knowledge, notes, pr_url, commits_count, "
            "turns_used, claim_agent, claim_token, lease_until, unmet, 99, changes FROM tasks "
            "WHERE number = 1",
            "tables",
            "T-99 is not in the log",
        ),
        (
            "DELETE FROM edges WHERE from_task = 3",
            "tables",
            "the edge T-3 depends_on T-2 is missing",
        ),
        ("INSERT INTO edges VALUES (1, 'depends_on', 3)", "tables", "is not in the log"),
        ("UPDATE tasks SET rank = 0 WHERE number = 3", "tables", "1 dependencies break the kept"),
        ("DELETE FROM events WHERE seq = 2", "log", "the first gap is at 2"),
        ("DELETE FROM events WHERE seq > 4", "log", "the first gap is at 5"),
        ("UPDATE events SET data = '{' WHERE seq = 1", "log", "could not be checked"),
        ("UPDATE events SET data = '{}' WHERE seq = 1", "log", "could not be checked"),
        ("UPDATE tasks SET labels = '{' WHERE number = 1", "tables", "could not be checked"),
        ("DELETE FROM counters", "log", "could not be checked"),
        ("CREATE TRIGGER evil AFTER INSERT ON tasks BEGIN SELECT 1; END", "store schema", "evil"),
        ("DROP TABLE actions", "store schema", "actions"),
        ("DELETE FROM meta", "store identity", "lost its identity"),
        ("PRAGMA user_version = 99", "store", "schema 99"),
    ],
)
def test_a_store_that_was_tampered_with_fails_by_name(
    busy: Place, statement: str, check: str, words: str
) -> None:
    busy.sql(statement)
    code, checks = examine(busy)
    assert code == 1
    assert checks[check]["status"] == "failed"
    assert words in checks[check]["message"]
    assert checks[check]["fix"]
    assert "controls" in checks  # the last to be looked at


@pytest.mark.parametrize("damage", ["header", "middle", "empty", "text"])
def test_a_damaged_file_is_reported_without_a_traceback(busy: Place, damage: str) -> None:
    busy.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(busy.database.read_bytes())
    if damage == "header":
        data[:16] = b"\0" * 16
    elif damage == "middle":
        data[8192:40960] = b"\xff" * (40960 - 8192)
    else:
        data = bytearray(b"" if damage == "empty" else b"this is no database\n" * 500)
    busy.database.write_bytes(data)
    code, checks = examine(busy)
    assert code == 1
    assert checks["store"]["status"] == "failed"
    assert busy.database.read_bytes() == bytes(data)


def test_a_store_of_somebody_else_is_read_and_a_warning(busy: Place) -> None:
    code, checks = examine(busy, env={"HOOKLINE_HOME": str(busy.base / "another")})
    assert code == 0
    assert checks["store owner"]["status"] == "warning"
    assert "hookline trust" in checks["store owner"]["fix"]
    assert checks["trust"]["status"] == "warning"
    assert checks["tables"]["status"] == "ok"


def test_it_never_writes_to_the_store(busy: Place) -> None:
    busy.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    before = hashlib.sha256(busy.database.read_bytes()).hexdigest()
    log = busy.json("events", "--all")
    examine(busy)
    assert hashlib.sha256(busy.database.read_bytes()).hexdigest() == before
    assert busy.json("events", "--all") == log


def test_a_project_without_a_store_is_not_given_one(place: Place) -> None:
    place.configure("version: 1\n")
    code, checks = examine(place)
    assert code == 0
    assert checks["store"]["status"] == "skipped"
    assert not (place.root / ".hookline").exists()


def test_hooks_that_wait_are_counted_until_they_have_run(busy: Place) -> None:
    # A process under a hook only writes down what has to run.
    folder = str(busy.root / ".hookline")
    busy.ok("task", "complete", "T-2", env={"HOOKLINE_HOOK": "outer", "HOOKLINE_DIR": folder})
    seq = busy.json("events", "--type", "task_completed")[-1]["seq"]
    code, checks = examine(busy)
    assert code == 0
    assert checks["waiting"]["status"] == "warning"
    assert f"for 1 event, from event {seq}" in checks["waiting"]["message"]
    assert checks["waiting"]["fix"] == "hookline work --flows --once"
    busy.ok("emit", "wake")
    assert examine(busy)[1]["waiting"]["status"] == "ok"


def test_calls_that_nobody_will_make_are_a_failure(busy: Place) -> None:
    folder = str(busy.root / ".hookline")
    busy.ok("task", "complete", "T-2", env={"HOOKLINE_HOOK": "outer", "HOOKLINE_DIR": folder})
    busy.sql("DELETE FROM dispatches")
    code, checks = examine(busy)
    assert code == 1
    assert "1 call and 0 actions" in checks["pending"]["message"]


def test_dead_letters_name_the_command_to_look(busy: Place) -> None:
    busy.sql("UPDATE deliveries SET status = 'dead' WHERE hook = 'journal'")
    seq = busy.json("events", "--type", "task_completed")[0]["seq"]
    code, checks = examine(busy)
    assert code == 0
    assert f"journal at event {seq}" in checks["dead letters"]["message"]
    assert checks["dead letters"]["fix"] == f"hookline why {seq}"


def test_a_slow_hook_is_flagged(place: Place) -> None:
    place.configure("hooks:\n  task_created:\n    - {name: snail, command: 'true'}\n")
    place.ok("trust", "--yes")
    place.ok("task", "add", "one")
    assert "no hook is slower than 1 s" in examine(place)[1]["speed"]["message"]
    place.sql("UPDATE deliveries SET duration_us = 2100000 WHERE hook = 'snail'")
    code, checks = examine(place)
    assert code == 0
    assert "snail" in checks["speed"]["message"]
    assert "1 event took over 2 s" in checks["speed"]["message"]


def test_what_a_killed_process_left_is_named(busy: Place) -> None:
    blobs = busy.root / ".hookline" / "blobs"
    blobs.mkdir(exist_ok=True)
    (blobs / ".incoming-999999999-ab").touch()
    (blobs / ".incoming-1-ab").touch()
    assert "1 unfinished file in blobs" in examine(busy)[1]["leftovers"]["message"]


def test_configuration_and_trust(place: Place) -> None:
    place.configure("hooks:\n  task_created:\n    - {name: one, command: 'echo'}\n")
    code, checks = examine(place)
    assert (code, checks["configuration"]["status"]) == (0, "ok")
    assert checks["trust"]["status"] == "warning"
    assert "hookline trust" in checks["trust"]["fix"]
    place.configure("hooks:\n  task_creatd:\n    - {name: one, command: 'echo'}\n")
    code, checks = examine(place)
    assert code == 1
    assert checks["configuration"]["status"] == "failed"
    assert checks["configuration"]["fix"] == "hookline check"


@pytest.mark.parametrize(
    ("entry", "status", "words"),
    [
        ("command: 'pytest -q'", "ok", "programs/pytest"),
        ("command: 'A=1 exec pytest -q'", "ok", "programs/pytest"),
        ("command: 'cd src && make'", "ok", "shell line"),
        ("command: '$RUNNER -q'", "ok", "filled in when it runs"),
        ("command: 'no-such-thing -q'", "failed", "no-such-thing is not on PATH"),
        ("command: 'pytest -q', env: {PATH: /bin}", "failed", "pytest is not on PATH"),
        ("command: './gone.sh -q'", "failed", "./gone.sh does not exist"),
        ("command: './plain.sh -q'", "failed", "./plain.sh is not executable"),
        ("command: './good.sh -q'", "ok", "good.sh"),
        ("script: good.sh", "ok", "runs good.sh with /bin/sh"),
        ("script: odd.sh", "failed", "odd.sh needs no-such-shell"),
        ("python: 'package.angry:act'", "ok", "package/angry.py"),
        ("python: 'package.gone:act'", "failed", "no module 'package.gone'"),
        ("python: 'json:dumps'", "ok", "json"),
        ("http: 'https://example.invalid/x'", "ok", "calls example.invalid"),
        ("command: 'no-such-thing', enabled: false", "skipped", "switched off"),
    ],
)
def test_the_program_of_each_hook_is_looked_up_as_the_hook_sees_it(
    place: Place, entry: str, status: str, words: str
) -> None:
    place.program("pytest")
    for name, first, mode in (
        ("good.sh", "#!/bin/sh", 0o755),
        ("plain.sh", "#!/bin/sh", 0o644),
        ("odd.sh", "#!/usr/bin/env no-such-shell", 0o755),
    ):
        (place.root / name).write_text(f"{first}\ntouch ran\n")
        (place.root / name).chmod(mode)
    (place.root / "package").mkdir()
    (place.root / "package" / "angry.py").write_text("raise SystemExit('imported')\n")
    place.configure(f"hooks:\n  task_created:\n    - {{name: one, {entry}}}\n")
    found = examine(place)[1]["hook one"]
    assert found["status"] == status
    assert words in found["message"]
    assert not place.started.exists()
    assert not (place.root / "ran").exists()


def test_relative_folders_on_the_path_are_a_warning(place: Place) -> None:
    place.configure("version: 1\n")
    checks = examine(place, env={"PATH": "/usr/bin:.:/bin"})[1]
    assert checks["path"]["status"] == "warning"


# The controls must fail when what they look at is broken: each is sabotaged once.


def _believe_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrustBook, "verdict", lambda *args: TrustVerdict(True, "sabotage", []))


def _paste_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "_compiled", templates._compiled.__wrapped__)
    monkeypatch.setitem(templates._EXPANSIONS, shellwords.BARE, 'eval "${%s}"')
    monkeypatch.setitem(templates._EXPANSIONS, shellwords.DOUBLE, '"; eval "${%s}"; "')


def _accept_every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_controls, "compile_line", lambda line, allowed: (line, []))


def _open_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_closed", lambda outcome: GateAnswer(status="success"))


def _shrug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rules._ON_FAILURE, "closed", "none")


def _be_content(monkeypatch: pytest.MonkeyPatch) -> None:
    content = StopDecision(action="complete", reason="sabotage")
    monkeypatch.setattr(rules, "_decision", lambda outcome: content)


def _believe_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "own_words", lambda text: text)


def _ask_for_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop_templates, "_work", lambda work: iter(()))


@pytest.mark.parametrize(
    ("sabotage", "control"),
    [
        (_believe_everything, "untrusted hook"),
        (_paste_text, "injection"),
        (_accept_every_line, "nested shell"),
        (_open_the_gate, "closed gate"),
        (_shrug, "guard"),
        (_be_content, "stop hook"),
        (_believe_quotes, "promise"),
        (_ask_for_no_proof, "promise"),
    ],
)
def test_a_control_notices_that_its_guard_is_gone(
    sabotage: Callable[[pytest.MonkeyPatch], None], control: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sabotage(monkeypatch)
    found = {each.name: each for each in doctor_controls.control_checks()}
    assert found[control].status == "failed"
    assert found[control].fix == doctor_controls.REPORT


def test_the_doctor_sees_what_check_warns_of(cli: Cli) -> None:
    types = "task_types: {part: {hooks: {before_submit: [secrets, create_pr]}}}\n"
    for gates, status, said in (
        ("", "warning", "1 warning"),
        ("gates: {test: 'true'}\n", "ok", "2 hooks, no problems"),
    ):
        cli.configure(f"{gates}{types}")
        assert cli.json("check")["warnings"] == (status == "warning")
        checks = cli("doctor", "--json").json["checks"]
        (found,) = (each for each in checks if each["name"] == "configuration")
        assert (found["status"], found["message"]) == (status, said)

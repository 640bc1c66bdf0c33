"""Configuration on disk: hook folders, automation-hooks.json, the cache, the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config import load_settings
from hookline.errors import BadInput
from hookline.project import Project
from hookline.surfaces.cli.project import points
from hookline.surfaces.cli.project.config import COMMANDS, CONFIG_COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.config import Settings

REVIEW = "auto-create-review-task"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / ".hookline").mkdir(parents=True)
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOOKLINE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HOOKLINE_DIR", raising=False)
    return root


def load(root: Path) -> Settings:
    return load_settings(Project(str(root), str(root / ".hookline")), str(root.parent / "home"))


def put(path: Path, mode: int = 0o755, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def codes(settings: Settings) -> list[tuple[str, str]]:
    return [(each.code, each.file) for each in settings.problems]


def run(name: str, *words: str) -> int:
    command = {**COMMANDS, **CONFIG_COMMANDS, **points.COMMANDS}[name]
    parser = ArgumentParser()
    parser.add_argument("--json", action="store_true")
    command.arguments(parser)
    return command.run(parser.parse_args(words)) or 0


# Hook folders.


def test_executable_files_are_hooks_in_order_of_their_names(root: Path) -> None:
    folder = root / ".hookline" / "hooks" / "task_completed"
    for name in ("20-b", "10-a", "README.md", "notes.txt", ".gitkeep", "old~"):
        put(folder / name)
    settings = load(root)
    assert settings.problems == []
    assert [(hook.name, hook.kind, hook.target, hook.origin) for hook in settings.hooks] == [
        (
            f"task_completed/{name}",
            "script",
            str(folder / name),
            f".hookline/hooks/task_completed/{name}",
        )
        for name in ("10-a", "20-b")
    ]
    assert settings.points == ("task_completed",)


def test_the_users_folder_is_a_layer_of_its_own(root: Path) -> None:
    put(root / ".hookline" / "hooks" / "task_completed" / "a")
    put(root.parent / "home" / "hooks" / "task_completed" / "a")
    settings = load(root)
    assert settings.problems == []
    assert [(hook.name, hook.layer) for hook in settings.hooks] == [
        ("task_completed/a", "project"),
        ("user/task_completed/a", "user"),
    ]


def test_a_file_that_would_never_run_is_an_error_with_its_remedy(root: Path) -> None:
    path = put(root / ".hookline" / "hooks" / "task_completed" / "a", mode=0o644)
    (problem,) = load(root).problems
    assert (problem.code, problem.severity) == ("not-executable", "error")
    assert problem.consequence == "this hook would never run"
    assert problem.help == f"chmod +x {path}"


def test_an_unknown_folder_and_a_stray_file_are_errors(root: Path) -> None:
    put(root / ".hookline" / "hooks" / "task_complete" / "a")
    put(root / ".hookline" / "hooks" / "stray.sh")
    settings = load(root)
    assert codes(settings) == [
        ("stray-hook", ".hookline/hooks/stray.sh"),
        ("unknown-point", ".hookline/hooks/task_complete"),
    ]
    assert "did you mean 'task_completed'?" in settings.problems[1].help


def test_links_that_lead_out_are_refused(root: Path) -> None:
    outside = put(root / "outside.sh")
    folder = root / ".hookline" / "hooks" / "task_completed"
    put(folder / "a")
    (folder / "b").symlink_to(outside)
    (folder / "c").symlink_to(folder / "a")
    (folder / "d").symlink_to(folder / "nothing")
    away = put(root / "away" / "x").parent
    (folder.parent / "task_created").symlink_to(away)
    settings = load(root)
    assert codes(settings) == [
        ("outside-link", ".hookline/hooks/task_completed/b"),
        ("unreadable-hook", ".hookline/hooks/task_completed/d"),
        ("outside-link", ".hookline/hooks/task_created/x"),
    ]
    assert [hook.name for hook in settings.hooks] == ["task_completed/a", "task_completed/c"]


def test_a_name_that_no_terminal_can_show_is_refused(root: Path) -> None:
    folder = root / ".hookline" / "hooks" / "task_completed"
    put(folder / "a\x1b[2J")
    put(folder / os.fsdecode(b"b\xff"))
    settings = load(root)
    assert codes(settings) == [("bad-name", ".hookline/hooks/task_completed")] * 2
    assert all(each.message.isprintable() for each in settings.problems)
    assert settings.hooks == []


# automation-hooks.json.

AUTOMATION = """{
\t"version": "1.0",
\t"hooks": [
\t\t{"name": "auto-create-review-task", "enabled": false, "priority": 10,
\t\t "eventTypes": ["task_completed"]},
\t\t{"name": "track-agent-task-lifecycle", "enabled": true, "priority": 50}
\t]
}
"""


def test_switches_of_the_json_file_are_read(root: Path) -> None:
    put(root / "data" / "automation-hooks.json", text=AUTOMATION)
    settings = load(root)
    assert settings.problems == []
    review = settings.tuning[REVIEW]
    assert (review.enabled, review.priority) == (False, 10)
    assert review.origin == "data/automation-hooks.json:4"


def test_yaml_beats_the_json_file_key_by_key(root: Path) -> None:
    put(root / "data" / "automation-hooks.json", text=AUTOMATION)
    put(root / "hookline.yaml", text=f"hooks: {{task_completed: [{REVIEW}]}}\n")
    tuning = load(root).tuning[REVIEW]
    assert (tuning.enabled, tuning.priority) == (True, 10)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ('{"hooks": [\n  {"name": }\n]}', "syntax", 2, 12),
        ('{"hooks": [\n  {"name": "review"}\n]}', "unknown-hook", 2, 12),
        (f'{{"hooks": [\n  {{"name": "{REVIEW}", "enabled": 3}}\n]}}', "wrong-type", 2, 50),
        ('{"hooks": {}}', "wrong-type", 1, 11),
        ("[]", "wrong-type", 1, 1),
    ],
)
def test_a_bad_json_file_is_told_with_its_place(
    root: Path, text: str, code: str, line: int, column: int
) -> None:
    put(root / "data" / "automation-hooks.json", text=text)
    problem = load(root).problems[0]
    assert (problem.code, problem.line, problem.column) == (code, line, column)


# Files that cannot be read.


def test_bytes_that_are_not_utf_8_are_told_with_their_place(root: Path) -> None:
    (root / "hookline.yaml").write_bytes(b"version: 1\nagent: \xff\n")
    (problem,) = load(root).problems
    assert (problem.code, problem.line, problem.column) == ("not-utf-8", 2, 8)


def test_a_huge_file_and_a_folder_in_its_place_are_errors(root: Path) -> None:
    (root / "hookline.yaml").write_text("# " + "x" * (1 << 20))
    assert codes(load(root)) == [("too-large", "hookline.yaml")]
    (root / "hookline.yaml").unlink()
    (root / "hookline.yaml").mkdir()
    assert codes(load(root)) == [("unreadable", "hookline.yaml")]


# The prompt of a session.


def test_unknown_variables_of_a_prompt_are_told_at_their_place(root: Path) -> None:
    put(root / "hookline.yaml", text="session: {prompt: prompts/loop.md}\n")
    text = "# Goal\r\n\r\nDo {{goal}}, {{ gaol }}!\n{{zzz}} {{gaol}}\n"
    put(root / "prompts" / "loop.md", text=text)
    first, second = load(root).problems
    assert (first.code, first.severity) == ("unknown-variable", "error")
    assert (first.file, first.line, first.column, first.length) == ("prompts/loop.md", 3, 14, 10)
    assert first.help.startswith("did you mean 'goal'? available: hook_output, messages,")
    assert (second.file, second.line, second.column) == ("prompts/loop.md", 4, 1)
    assert "'zzz'" in second.message


def test_a_prompt_that_is_mended_is_read_again(root: Path) -> None:
    put(root / "hookline.yaml", text="session: {prompt: loop.md}\n")
    prompt = root / "loop.md"
    assert codes(load(root)) == [("unreadable", "hookline.yaml")]
    put(prompt, text="{{gaol}}")
    assert codes(load(root)) == [("unknown-variable", "loop.md")]
    before = prompt.stat()
    put(prompt, text="{{goal}}")
    os.utime(prompt, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert codes(load(root)) == []


def test_a_prompt_that_is_no_file_holds_nobody_up(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    put(root / "long", text="x" * (256 * 1024 + 1))
    for name in ("pipe", "folder", "long", "/dev/zero", r"a\0b"):
        put(root / "hookline.yaml", text=f'session: {{prompt: "{name}"}}\n')
        (problem,) = load(root).problems
        assert (problem.code, problem.severity, problem.line) == ("unreadable", "warning", 1)


def test_a_prompt_full_of_unknown_variables_is_told_in_bounds(root: Path) -> None:
    put(root / "hookline.yaml", text="session: {prompt: loop.md}\n")
    many = "".join(f"{{{{v{number}}}}}" for number in range(20_000))
    put(root / "loop.md", text=f"{{{{{'x' * 10_000}}}}}{many}")
    found = load(root).problems
    assert len(found) == 20
    assert max(len(each.message) for each in found) < 200


# The cache.

YAML = """
hooks:
  task_completed: [{name: tell, command: "echo {{task_id}}", when: "'x' in task.labels"}]
  before_merge: [{gatekeeper: [qa]}]
task_types: {a: {hooks: {stop: [default]}}}
agents: {b: {driver: codex, hooks: {stop: [promise]}}}
events: [deploy]
"""

HIT = """
import sys
from hookline.config import load_settings
from hookline.project import Project
settings = load_settings(Project(sys.argv[1], sys.argv[1] + "/.hookline"), sys.argv[2])
heavy = ["yaml", "difflib", "hashlib", "pathlib", "asyncio", "logging",
         "hookline.hooks.language.templates", "hookline.hooks.language.conditions",
         "hookline.config.load",
         "hookline.config.types", "hookline.points"]
print(len(settings.hooks), [name for name in heavy if name in sys.modules])
"""


def cache_file(root: Path) -> Path:
    (found,) = (root.parent / "home" / "cache").iterdir()
    return found


def test_a_hit_gives_the_same_settings(root: Path) -> None:
    put(root / "hookline.yaml", text=YAML)
    put(root / "data" / "automation-hooks.json", text=AUTOMATION)
    first = load(root)
    assert cache_file(root).stat().st_mode & 0o777 == 0o600
    again = load(root)
    assert again == first
    assert again.sections == first.sections
    assert again.type_hooks["a"]["stop"][0].target == "default"
    assert again.agent_hooks["b"]["stop"][0].target == "promise"


def test_a_hit_loads_nothing_heavy(root: Path) -> None:
    put(root / "hookline.yaml", text=YAML)
    load(root)
    argv = [sys.executable, "-c", HIT, str(root), str(root.parent / "home")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout == "2 []\n"


def test_every_change_is_seen(root: Path) -> None:
    put(root / "hookline.yaml", text="hooks: {task_created: [{script: ./a.sh}]}\n")
    script = root / "a.sh"
    assert codes(load(root)) == [("no-such-script", "hookline.yaml")]
    put(script, mode=0o644)
    assert codes(load(root)) == [("not-executable", "hookline.yaml")]
    script.chmod(0o755)
    assert load(root).problems == []
    put(root / ".hookline" / "hooks" / "task_created" / "b", mode=0o644)
    assert [each.code for each in load(root).problems] == ["not-executable"]
    (root / ".hookline" / "hooks" / "task_created" / "b").chmod(0o755)
    assert len(load(root).hooks) == 2
    put(root.parent / "home" / "hookline.yaml", text="events: [mine]\n")
    assert load(root).events == ("mine",)
    put(root / "hookline.yaml", text="")
    assert len(load(root).hooks) == 1


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "other"])
def test_a_damaged_cache_is_ignored_and_mended(root: Path, damage: str) -> None:
    put(root / "hookline.yaml", text=YAML)
    expected = load(root)
    path = cache_file(root)
    whole = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "cut": whole[:-20],
            "flipped": whole.replace(b"echo", b"evil"),
            "other": b"\xff\x00 {}\n[]\n{}",
        }[damage]
    )
    assert load(root) == expected
    assert path.read_bytes() == whole


def test_a_home_that_cannot_be_written_is_no_error(root: Path) -> None:
    put(root / "hookline.yaml", text=YAML)
    # A file in the folder's place fails for every user, root included.
    put(root.parent / "home", text="")
    assert len(load(root).hooks) == 2


# The commands.


def test_check_shows_every_problem_and_fails(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(root / "hookline.yaml", text="sesion: {}\nhooks: {pre_tool_use: [{command: x}]}\n")
    assert run("check") == 2
    out = capsys.readouterr().out
    assert "error[unknown-key]: the file has no key 'sesion'\n --> hookline.yaml:1:1\n" in out
    assert out.endswith("\n1 error, 1 warning\n")


def test_check_succeeds_with_warnings_only(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(root / "hookline.yaml", text="hooks: {pre_tool_use: [{command: x}]}\n")
    assert run("check") == 0
    assert capsys.readouterr().out.endswith("\n1 warning\n")


def test_check_in_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(root / "hookline.yaml", text="hooks: {stopp: []}\n")
    for words in (["--json"], ["--format", "json"]):
        assert run("check", *words) == 2
        found = json.loads(capsys.readouterr().out)
        assert (found["errors"], found["warnings"]) == (1, 0)
        (problem,) = found["problems"]
        assert problem.pop("help").startswith("did you mean 'stop'?")
        assert problem == {
            "code": "unknown-point",
            "severity": "error",
            "message": "no hook point named 'stopp'",
            "file": "hookline.yaml",
            "line": 1,
            "column": 9,
            "length": 5,
            "consequence": "this hook would never run",
        }


def test_check_for_a_code_host(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(root / "hookline.yaml", text="version: 3\n")
    assert run("check", "--format", "github") == 2
    out = capsys.readouterr().out
    assert out.startswith("::error file=hookline.yaml,line=1,col=10,title=unknown-version::")


def test_check_without_a_file_says_so(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check") == 0
    said = capsys.readouterr()
    assert said.err == f"there is no hookline.yaml in {root}\n"
    assert said.out == "no problems\n"
    assert not os.path.exists(root / ".hookline" / "hookline.db")


def test_points_are_listed_and_explained(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("points")
    out = capsys.readouterr().out
    assert "react: all hooks run" in out
    assert "  task_completed " in out
    run("points", "stop", "--json")
    detail: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (detail["rule"], detail["timeout"]) == ("decide", 300)
    assert detail["payload"]["iteration"] == "int"
    assert "agentOutput" in detail["conditions"]
    assert detail["variables"]["iteration"] == "the iteration's number, from 1"
    with pytest.raises(BadInput) as wrong:
        run("points", "stpo")
    assert wrong.value.help == "did you mean 'stop'? `hookline points` lists them all"


def test_the_example_of_every_point_is_a_valid_configuration(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("points", "--json")
    for point in json.loads(capsys.readouterr().out):
        run("points", point["name"], "--json")
        example = json.loads(capsys.readouterr().out)["example"]
        put(root / "hookline.yaml", text=example)
        put(root / ".hookline" / "steer.py")
        put(root / ".hookline" / "guard.py")
        assert not load(root).has_errors, point["name"]


def test_show_tells_where_each_value_comes_from(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(root / "data" / "automation-hooks.json", text=AUTOMATION)
    put(root / "hookline.yaml", text="session:\n  iterations: 5\nhooks:\n  stop: [default]\n")
    put(root.parent / "home" / "hookline.yaml", text="session: {budget: {usd: 2}}\n")
    run("show", "--json")
    shown = {each["key"]: each for each in json.loads(capsys.readouterr().out)}
    found = {
        key: (shown[key]["value"], shown[key]["origin"])
        for key in (
            "session.iterations",
            "session.budget.usd",
            "session.budget.tokens",
            f"built-in.{REVIEW}.enabled",
        )
    }
    assert found == {
        "session.iterations": (5, "hookline.yaml:2"),
        "session.budget.usd": (2, "user:hookline.yaml:1"),
        "session.budget.tokens": (None, "default"),
        f"built-in.{REVIEW}.enabled": (False, "data/automation-hooks.json:4"),
    }
    assert shown["hooks.stop[0]:default"]["origin"] == "hookline.yaml:4"

"""Which command a project's files tell of: programs on PATH, and files that a hostile hand made."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from hookline.adapters.process import LocalProcesses
from hookline.errors import HookFailure
from hookline.hooks.builtin.gates_runners import LINTERS, TEST_RUNNERS
from hookline.hooks.builtin.test_runners import Found, find_runner

ALL = (
    *("pytest", "tox", "nox", "npm", "pnpm", "yarn", "bun", "make", "cargo", "cargo-clippy", "go"),
    *("gradle", "mvn", "mix", "bundle", "rspec", "rake", "deno", "sbt", "composer", "swift"),
    *("dart", "just", "ruff", "npx", "golangci-lint", "flake8", "uv", "poetry", "rubocop"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def path_of(folder: Path, *names: str) -> str:
    """A PATH that has only these programs."""
    place = folder.parent / "bin"
    place.mkdir(exist_ok=True)
    for name in names:
        program = place / name
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
    return str(place)


def found(folder: Path, table: object = TEST_RUNNERS, *names: str) -> Found | None:
    processes = LocalProcesses(str(folder.parent / "blobs"))
    env = {"PATH": path_of(folder, *(names or ALL))}
    return asyncio.run(find_runner(table, str(folder), processes, env))  # type: ignore[arg-type]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def package(**scripts: str) -> str:
    return json.dumps({"scripts": scripts})


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"pytest.ini": ""}, "pytest -q"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "pytest -q"),
        ({"pyproject.toml": 'dependencies = ["pytest>=8"]\n'}, "pytest -q"),
        ({"pyproject.toml": "[project]\n", "tests/test_a.py": ""}, "pytest -q"),
        ({"pytest.ini": "", "uv.lock": ""}, "uv run pytest -q"),
        ({"pytest.ini": "", "poetry.lock": ""}, "poetry run pytest -q"),
        ({"tox.ini": ""}, "tox -q"),
        ({"noxfile.py": ""}, "nox"),
        ({"package.json": package(test="jest")}, "npm run --silent test"),
        ({"package.json": package(test="jest"), "pnpm-lock.yaml": ""}, "pnpm run test"),
        ({"package.json": package(test="jest"), "yarn.lock": ""}, "yarn run test"),
        ({"Cargo.toml": ""}, "cargo test --quiet"),
        ({"go.mod": ""}, "go test ./..."),
        ({"build.gradle.kts": ""}, "gradle test"),
        ({"pom.xml": ""}, "mvn -q test"),
        ({"mix.exs": ""}, "mix test"),
        ({".rspec": "", "Gemfile": ""}, "bundle exec rspec"),
        ({".rspec": ""}, "rspec"),
        ({"Rakefile": "Rake::TestTask.new"}, "rake test"),
        ({"composer.json": package(test="phpunit")}, "composer test"),
        ({"Makefile": "build:\n\ntest: build\n\tx\n"}, "make test"),
        ({"Makefile": "lint test:\n\tx\n"}, "make test"),
        ({"justfile": "test:\n  x\n"}, "just test"),
    ],
)
def test_files_tell_how_tests_are_run(folder: Path, files: dict[str, str], command: str) -> None:
    write(folder, files)
    runner = found(folder)
    assert runner is not None
    assert runner.command == command


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"ruff.toml": ""}, "ruff check ."),
        ({"pyproject.toml": "[tool.ruff]\n"}, "ruff check ."),
        ({"package.json": package(lint="eslint .")}, "npm run --silent lint"),
        ({"eslint.config.mjs": ""}, "npx --no-install eslint ."),
        ({".golangci.yml": "", "go.mod": ""}, "golangci-lint run"),
        ({"Cargo.toml": ""}, "cargo clippy --quiet -- -D warnings"),
        ({"Makefile": "lint:\n\tx\n"}, "make lint"),
    ],
)
def test_files_tell_how_code_is_linted(folder: Path, files: dict[str, str], command: str) -> None:
    write(folder, files)
    runner = found(folder, LINTERS)
    assert runner is not None
    assert runner.command == command


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"readme": ""},
        {"pyproject.toml": "[project]\n"},
        {"package.json": package(test='echo "Error: no test specified" && exit 1')},
        {"package.json": "{not json"},
        {"package.json": "[]"},
        {"package.json": '{"scripts": {"test": 5}}'},
        {"Makefile": "test := 1\n\ttest:\n# test:\ncontest:\n"},
        {"Rakefile": "task :build\n"},
    ],
)
def test_what_tells_nothing_is_nothing(folder: Path, files: dict[str, str]) -> None:
    write(folder, files)
    assert found(folder) is None


def test_the_folder_s_own_environment_comes_first(folder: Path) -> None:
    write(folder, {"pytest.ini": "", ".venv/bin/python": "#!/bin/sh\n", ".venv/bin/pytest": ""})
    (folder / ".venv/bin/python").chmod(0o755)
    runner = found(folder)
    assert runner is not None
    assert runner.command == ".venv/bin/python -m pytest -q"


def test_a_module_counts_where_python_can_import_it(folder: Path) -> None:
    write(folder, {"pytest.ini": ""})
    place = Path(path_of(folder, "python3"))
    runner = found(folder, TEST_RUNNERS, "python3")
    assert runner is not None
    assert runner.command == "python3 -m pytest -q"
    (place / "python3").write_text("#!/bin/sh\nexit 1\n")
    processes = LocalProcesses(str(folder.parent / "blobs"))
    with pytest.raises(HookFailure, match=r"pytest\.ini tells of .*not installed"):
        asyncio.run(find_runner(TEST_RUNNERS, str(folder), processes, {"PATH": str(place)}))


def test_a_hint_without_its_program_is_passed_over(folder: Path) -> None:
    write(folder, {"tests/test_a.py": "", "Makefile": "test:\n\tx\n"})
    runner = found(folder, TEST_RUNNERS, "make")
    assert runner is not None
    assert runner.command == "make test"


def test_files_that_lead_elsewhere_or_never_end_are_not_read(folder: Path) -> None:
    write(folder.parent, {"outside/Makefile": "test:\n\tx\n"})
    (folder / "Makefile").symlink_to(folder.parent / "outside" / "Makefile")
    os.mkfifo(folder / "package.json")
    (folder / "pyproject.toml").symlink_to("/dev/zero")
    assert found(folder) is None

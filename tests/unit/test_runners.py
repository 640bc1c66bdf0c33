"""Which commands a project's files show: languages, workspaces, packages, and hostile files."""

from __future__ import annotations

import asyncio
import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.processes.process import LocalProcesses
from hookline.errors import HookFailure
from hookline.hooks.builtin.gates.commands import DetectedTests, find_runner
from hookline.hooks.runners.search import LINTERS, TESTS, Runners, RunnerTable, find_runners

if TYPE_CHECKING:
    from pathlib import Path

ALL = (
    *("pytest", "tox", "nox", "npm", "pnpm", "yarn", "bun", "make", "cargo", "cargo-clippy", "go"),
    *("gradle", "mvn", "mix", "bundle", "rspec", "rake", "deno", "sbt", "composer", "swift"),
    *("dart", "just", "ruff", "npx", "golangci-lint", "flake8", "uv", "poetry", "rubocop"),
    *("pdm", "pipenv", "hatch", "node", "phpunit"),
)
UV = "[tool.uv.workspace]\nmembers = ['packages/*']\n"
TESTED = '{"scripts": {"test": "vitest run"}}'
UNTESTED = '{"scripts": {"build": "tsc"}}'
NODE_TEST = "const test = require('node:test');\n"


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


def search(folder: Path, table: RunnerTable = TESTS, programs: tuple[str, ...] = ALL) -> Runners:
    return find_runners(table, str(folder), path_of(folder, *programs))


def commands(
    folder: Path, table: RunnerTable = TESTS, programs: tuple[str, ...] = ALL
) -> list[str]:
    return [each.command for each in search(folder, table, programs).chosen]


def at_a_gate(folder: Path, *programs: str) -> DetectedTests | None:
    processes = LocalProcesses(str(folder.parent / "blobs"))
    env = {"PATH": path_of(folder, *programs)}
    return asyncio.run(find_runner(TESTS, str(folder), processes, env))


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def package(**more: object) -> str:
    return json.dumps(more)


def scripts(**more: str) -> str:
    return package(scripts=more)


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"pytest.ini": ""}, "pytest -q"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "pytest -q"),
        ({"pyproject.toml": 'dependencies = ["pytest>=8"]\n'}, "pytest -q"),
        ({"pyproject.toml": "[project]\n", "tests/test_a.py": ""}, "pytest -q"),
        ({"requirements-dev.txt": "ruff\npytest==8.0\n"}, "pytest -q"),
        ({"tox.ini": "[pytest]\n"}, "pytest -q"),
        ({"pytest.ini": "", "uv.lock": ""}, "uv run pytest -q"),
        ({"pytest.ini": "", "poetry.lock": ""}, "poetry run pytest -q"),
        (
            {"pyproject.toml": '[tool.poetry]\n[tool.poetry.group.dev.dependencies]\npytest = "8"'},
            "poetry run pytest -q",
        ),
        ({"pytest.ini": "", "pdm.lock": ""}, "pdm run pytest -q"),
        ({"pyproject.toml": '[tool.pdm.scripts]\ntest = "pytest"\n'}, "pdm run test"),
        ({"pytest.ini": "", "Pipfile": ""}, "pipenv run pytest -q"),
        ({"pyproject.toml": "[tool.hatch.envs.hatch-test]\n"}, "hatch test"),
        ({"pyproject.toml": '[tool.hatch.envs.default.scripts]\ntest = "x"'}, "hatch run test"),
        ({"pyproject.toml": '[tool.hatch.envs.test.scripts]\nrun = "x"'}, "hatch run test:run"),
        (
            {"pyproject.toml": "[tool.hatch.envs.test]\ndependencies = ['pytest']\n"},
            "hatch run test:pytest -q",
        ),
        ({"hatch.toml": "[envs.default]\n", "conftest.py": ""}, "hatch test"),
        ({"tox.ini": ""}, "tox -q"),
        ({"tox.ini": "[testenv]\ncommands = pytest\n", "conftest.py": ""}, "tox -q -e py"),
        ({"noxfile.py": ""}, "nox"),
        ({"noxfile.py": "@nox.session\ndef tests(session):\n", "conftest.py": ""}, "nox -s tests"),
        (
            {"pyproject.toml": UV, "uv.lock": "", "packages/a/pyproject.toml": "[tool.pytest]\n"},
            "uv run --all-packages pytest -q",
        ),
        ({"package.json": scripts(test="jest")}, "npm test --silent"),
        ({"package.json": scripts(test="jest"), "pnpm-lock.yaml": ""}, "pnpm test"),
        ({"package.json": scripts(test="jest"), "yarn.lock": ""}, "yarn test"),
        ({"package.json": scripts(test="jest"), "bun.lock": ""}, "bun run test"),
        (
            {"package.json": package(scripts={"test": "x"}, packageManager="pnpm@9.1.0")},
            "pnpm test",
        ),
        ({"package.json": scripts(test="vitest --watch")}, "npx --no-install vitest run"),
        ({"package.json": scripts(test="vitest dev")}, "npx --no-install vitest run"),
        ({"package.json": scripts(test="vitest")}, "CI=true npm test --silent"),
        ({"package.json": scripts(test="vitest --run")}, "npm test --silent"),
        ({"package.json": scripts(test="vitest run --coverage")}, "npm test --silent"),
        ({"package.json": scripts(test="jest --watchAll")}, "npx --no-install jest"),
        ({"package.json": scripts(test="jest --watchAll=false")}, "npm test --silent"),
        ({"package.json": scripts(test="react-scripts test")}, "CI=true npm test --silent"),
        ({"package.json": package(devDependencies={"vitest": "3"})}, "npx --no-install vitest run"),
        (
            {"package.json": package(devDependencies={"jest": "1"}), "pnpm-lock.yaml": ""},
            "pnpm exec jest",
        ),
        ({"package.json": "{}", "test/sum.js": NODE_TEST}, "node --test"),
        ({"src/sum.test.mjs": "import test from 'node:test'\n"}, "node --test"),
        ({"package.json": "{}", "bun.lock": "", "a.test.ts": "import 'bun:test'"}, "bun test"),
        (
            {"package.json": package(workspaces=["packages/*"]), "packages/a/package.json": TESTED},
            "npm test --silent --workspaces --if-present",
        ),
        (
            {"package.json": "{}", "pnpm-workspace.yaml": "", "apps/a/package.json": TESTED},
            "pnpm -r test",
        ),
        (
            {
                "package.json": package(workspaces={"packages": ["./lib/"]}),
                "yarn.lock": "",
                "lib/package.json": TESTED,
            },
            "yarn workspaces run test",
        ),
        (
            {
                "package.json": package(workspaces=["lib"], packageManager="yarn@4.1.0"),
                "lib/package.json": TESTED,
            },
            "yarn workspaces foreach --all run test",
        ),
        (
            {
                "package.json": package(workspaces=["**"]),
                "bun.lock": "",
                "a/b/package.json": TESTED,
            },
            "bun run --filter '*' test",
        ),
        ({"deno.json": ""}, "deno test"),
        ({"Cargo.toml": ""}, "cargo test --quiet"),
        ({"Cargo.toml": "[workspace]\nmembers = ['a']\n"}, "cargo test --quiet --workspace"),
        ({"go.mod": ""}, "go test ./..."),
        (
            {"go.work": "go 1.22\n\nuse (\n\t./api // the server\n\t./lib\n)\nuse ./cmd/tool\n"},
            "go test ./api/... ./lib/... ./cmd/tool/...",
        ),
        ({"go.work": "use .\nuse ./lib\n", "go.mod": ""}, "go test ./... ./lib/..."),
        ({"build.gradle.kts": ""}, "gradle test"),
        ({"settings.gradle": "", "gradlew": ""}, "sh gradlew test"),
        ({"pom.xml": ""}, "mvn -q test"),
        ({"mix.exs": ""}, "mix test"),
        ({".rspec": "", "Gemfile": ""}, "bundle exec rspec"),
        ({".rspec": ""}, "rspec"),
        ({"Rakefile": "Rake::TestTask.new"}, "rake test"),
        ({"Rakefile": "task :test do\nend\n"}, "rake test"),
        ({"composer.json": scripts(test="phpunit")}, "composer test"),
        ({"phpunit.xml.dist": ""}, "phpunit"),
        ({"Makefile": "build:\n\ntest: build\n\tx\n"}, "make test"),
        ({"Makefile": "lint test:\n\tx\n"}, "make test"),
        ({"Makefile": "check:\n\tx\n"}, "make check"),
        ({"justfile": "test *args:\n  x\n"}, "just test"),
        ({"Justfile": "@test:\n  x\n"}, "just test"),
    ],
)
def test_files_show_how_tests_are_run(folder: Path, files: dict[str, str], command: str) -> None:
    write(folder, files)
    assert commands(folder) == [command]


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"ruff.toml": ""}, "ruff check --quiet ."),
        ({"pyproject.toml": "[tool.ruff]\n"}, "ruff check --quiet ."),
        ({"pyproject.toml": "[tool.ruff]\n", "uv.lock": ""}, "ruff check --quiet ."),
        ({"pyproject.toml": 'dev = ["ruff"]', "uv.lock": ""}, "uv run ruff check --quiet ."),
        ({".flake8": ""}, "flake8"),
        ({"package.json": scripts(lint="eslint .")}, "npm run --silent lint"),
        ({"eslint.config.mjs": ""}, "npx --no-install eslint ."),
        ({"biome.json": "", "yarn.lock": ""}, "yarn run biome check ."),
        ({".golangci.yml": "", "go.mod": ""}, "golangci-lint run"),
        ({"go.mod": ""}, "go vet ./..."),
        ({"Cargo.toml": ""}, "cargo clippy --quiet -- -D warnings"),
        ({"Cargo.toml": "[workspace]\n"}, "cargo clippy --quiet --workspace -- -D warnings"),
        ({"Makefile": "lint:\n\tx\n"}, "make lint"),
    ],
)
def test_files_show_how_code_is_linted(folder: Path, files: dict[str, str], command: str) -> None:
    write(folder, files)
    assert commands(folder, LINTERS) == [command]


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"readme": ""},
        {"pyproject.toml": "[project]\n"},
        {"package.json": scripts(test='echo "Error: no test specified" && exit 1')},
        {"package.json": "{not json"},
        {"package.json": "[]"},
        {"package.json": '{"scripts": {"test": 5}}'},
        {"package.json": '{"scripts": ["test"], "workspaces": 7, "devDependencies": [3]}'},
        {"package.json": '{"workspaces": [null, 3, {}], "packageManager": ["npm"]}'},
        {"package.json": package(workspaces=["packages/*"]), "packages/a/package.json": UNTESTED},
        {
            "package.json": "{}",
            "pnpm-workspace.yaml": "packages:\n  - 'libs/*'\n",
            "libs/a/package.json": UNTESTED,
        },
        {"package.json": "{}", "test/sum.js": "console.log(1)\n"},
        {"Makefile": "test := 1\n\ttest:\n# test:\ncontest:\n"},
        {"justfile": "deploy test:\n  x\n"},
        {"Rakefile": "task :build\n"},
        {"examples/shop/package.json": TESTED, "node_modules/x/package.json": TESTED},
        {"docs/go.mod": "", ".hidden/go.mod": "", "a/b/c/go.mod": ""},
        {"go.work": "use ../elsewhere\n"},
        {"go.work": "use ./$(reboot)\n"},
    ],
)
def test_what_shows_nothing_is_nothing(folder: Path, files: dict[str, str]) -> None:
    write(folder, files)
    assert commands(folder) == []


# Several languages, and packages in folders


def test_each_package_of_a_repository_is_tested_in_its_folder(folder: Path) -> None:
    write(folder, {"api/pyproject.toml": "[tool.pytest]\n", "api/uv.lock": ""})
    write(folder, {"packages/web/package.json": TESTED, "packages/web/yarn.lock": ""})
    assert commands(folder) == ["cd api && uv run pytest -q", "cd packages/web && yarn test"]


def test_the_root_speaks_for_packages_of_its_language(folder: Path) -> None:
    write(folder, {"go.mod": "", "tools/go.mod": "", "web/package.json": TESTED})
    assert commands(folder) == ["go test ./...", "cd web && npm test --silent"]


def test_a_target_for_everything_comes_before_several_languages(folder: Path) -> None:
    write(folder, {"go.mod": "", "web/package.json": TESTED, "Makefile": "test:\n\tx\n"})
    found = search(folder)
    assert [each.command for each in found.chosen] == ["make test"]
    assert len(found.others) == 2


def test_one_language_comes_before_a_target(folder: Path) -> None:
    write(folder, {"go.mod": "", "Makefile": "test:\n\tx\n"})
    found = search(folder)
    assert [each.command for each in found.chosen] == ["go test ./..."]
    assert [each.command for each in found.others] == ["make test"]


def test_a_target_at_the_root_speaks_for_all_packages(folder: Path) -> None:
    write(folder, {"core/Cargo.toml": "", "Makefile": "test:\n\tx\n"})
    assert commands(folder) == ["make test"]


def test_members_of_a_workspace_without_tests_are_left_out_one_by_one(folder: Path) -> None:
    write(folder, {"package.json": package(workspaces=["*"]), "yarn.lock": ""})
    write(folder, {"a/package.json": TESTED, "b/package.json": UNTESTED})
    assert commands(folder) == ["cd a && yarn test"]  # the classic yarn fails where it is missing


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("vitest run", "npm test --silent --workspaces --if-present"),
        ("vitest", "CI=true npm test --silent --workspaces --if-present"),
        ("vitest --watch", "cd a && npx --no-install vitest run"),
    ],
)
def test_the_tests_of_members_end_by_themselves(folder: Path, script: str, found: str) -> None:
    write(
        folder, {"package.json": package(workspaces=["*"]), "a/package.json": scripts(test=script)}
    )
    assert commands(folder) == [found]


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ("packages:\n  - 'libs/*'\n  - \"apps/**\"\n", "pnpm -r test"),
        ("packages: ['libs/*', apps/web]\n", "pnpm -r test"),
        ("packages:\n  - libs/*\n", "cd apps/web && pnpm test"),
    ],
)
def test_only_members_of_a_workspace_are_tested_by_it(
    folder: Path, listed: str, found: str
) -> None:
    write(folder, {"package.json": "{}", "pnpm-workspace.yaml": listed})
    write(folder, {"libs/a/package.json": UNTESTED, "apps/web/package.json": TESTED})
    assert commands(folder) == [found]


def test_a_folder_whose_name_is_no_plain_word_is_passed_over(folder: Path) -> None:
    for name in ("a;reboot", "$(reboot)", "-rf", "a b", "a\nb", "ünder"):
        write(folder, {f"{name}/go.mod": ""})
    assert commands(folder) == []


def test_a_gate_runs_all_of_it(folder: Path) -> None:
    write(folder, {"api/go.mod": "", "web/package.json": TESTED})
    found = at_a_gate(folder, "go", "npm")
    assert found is not None
    assert found.line == "(cd api && go test ./...) && (cd web && npm test --silent)"


# What is installed


def test_a_lock_file_decides_even_where_its_program_is_missing(folder: Path) -> None:
    write(folder, {"pytest.ini": "", "uv.lock": ""})
    (found,) = search(folder, TESTS, ("pytest",)).chosen
    assert (found.command, found.missing, found.source) == ("uv run pytest -q", "uv", "uv.lock")


def test_a_wrapper_of_the_project_comes_first(folder: Path) -> None:
    write(folder, {"build.gradle": "", "gradlew": "#!/bin/sh\n"})
    (folder / "gradlew").chmod(0o755)
    (found,) = search(folder, TESTS, ("gradle",)).chosen
    assert (found.command, found.missing) == ("./gradlew test", None)


def test_the_folder_s_own_environment_comes_before_path(folder: Path) -> None:
    write(folder, {"pytest.ini": "", ".venv/bin/python": "#!/bin/sh\n", ".venv/bin/pytest": ""})
    for name in ("python", "pytest"):
        (folder / ".venv/bin" / name).chmod(0o755)
    assert commands(folder) == [".venv/bin/python -m pytest -q"]


def test_at_a_gate_a_module_counts_where_python_can_import_it(folder: Path) -> None:
    write(folder, {"pytest.ini": ""})
    found = at_a_gate(folder, "python3")
    assert found is not None
    assert found.line == "python3 -m pytest -q"
    (folder.parent / "bin" / "python3").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(HookFailure, match=r"pytest\.ini asks for .*not installed"):
        at_a_gate(folder)


def test_test_files_alone_count_only_where_pytest_is_installed(folder: Path) -> None:
    write(folder, {"tests/test_a.py": "", "Makefile": "test:\n\tx\n"})
    assert commands(folder, TESTS, ("make",)) == ["make test"]


# Which changes matter


@pytest.mark.parametrize(
    ("files", "path", "matters"),
    [
        ({"pytest.ini": ""}, "pytest.ini", True),
        ({"pytest.ini": ""}, "web/package.json", True),
        ({"pytest.ini": ""}, "src/app.py", False),
        ({"pytest.ini": ""}, "tests/test_a.py", False),
        ({"tests/test_a.py": ""}, "tests/test_b.py", True),
        ({"go.mod": ""}, "go.work", True),
        ({"go.mod": ""}, "main.go", False),
        ({"Makefile": "test:\n"}, "Makefile", True),
    ],
)
def test_it_is_known_which_files_the_answer_depends_on(
    folder: Path, files: dict[str, str], path: str, matters: bool
) -> None:
    write(folder, files)
    assert search(folder).asked.covers(path) == matters


# Hostile files


def test_files_that_lead_elsewhere_or_never_end_are_not_read(folder: Path) -> None:
    write(folder.parent, {"outside/Makefile": "test:\n\tx\n", "outside/go.mod": ""})
    (folder / "Makefile").symlink_to(folder.parent / "outside" / "Makefile")
    (folder / "api").symlink_to(folder.parent / "outside")
    (folder / "tests").symlink_to("/")
    os.mkfifo(folder / "package.json")
    (folder / "pyproject.toml").symlink_to("/dev/zero")
    (folder / "tox.ini").symlink_to("tox.ini")
    assert commands(folder) == []


MANY = 1 << 20


def filled(text: str, start: str = "") -> str:
    """As much as is read of a file."""
    return (start + text * (MANY // len(text)))[:MANY]


@pytest.mark.examples(4)
@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("pyproject.toml", filled("\n"), []),
        ("requirements.txt", filled(" "), []),
        ("pyproject.toml", filled("[", "a = "), []),
        ("pyproject.toml", filled("0", "a = 1"), []),
        ("pyproject.toml", filled(".a", "[a"), []),
        ("pyproject.toml", filled("[tool.hatch.envs.test]\n"), []),
        ("package.json", filled("["), []),
        ("package.json", filled('{"a":'), []),
        ("package.json", scripts(test="jest " * 200_000), ["npm test --silent"]),
        ("package.json", package(workspaces=["**/" * 300] * 1_000), []),
        ("pnpm-workspace.yaml", filled("  - a\n"), []),
        ("pnpm-workspace.yaml", filled("["), []),
        ("go.work", filled("use (\n"), []),
        ("go.work", filled("use ./a\n"), []),
        ("Rakefile", filled(" ", "task"), []),
        ("tox.ini", filled("[testenv]\n"), ["tox -q"]),
        ("Makefile", filled("a b c:\n"), []),
        ("noxfile.py", filled("def tests\n"), ["nox"]),
    ],
)
def test_no_text_of_a_manifest_takes_long(
    folder: Path, file: str, text: str, found: list[str]
) -> None:
    """What takes more than one pass over such a text would meet the time limit of tests."""
    write(folder, {file: text})
    for name in range(50):
        write(folder, {f"packages/p{name}/package.json": UNTESTED})
    assert commands(folder) == found


def test_a_large_and_deep_repository_is_searched_within_bounds(folder: Path) -> None:
    deep = folder
    for _ in range(300):
        deep = deep / "d"
        deep.mkdir()
    wide = folder / "wide"
    wide.mkdir()
    for number in range(6_000):
        (wide / f"folder{number}").mkdir()
        (wide / f"link{number}").symlink_to("/")
    write(folder, {"zoo/go.mod": ""})
    assert commands(folder) == ["cd zoo && go test ./..."]


def test_every_line_can_be_shown_and_has_no_variable(folder: Path) -> None:
    """Lines are put into the configuration: none may hold what a template or YAML reads."""
    write(
        folder,
        {"package.json": package(workspaces=["a"]), "bun.lock": "", "a/package.json": TESTED},
    )
    for line in commands(folder):
        assert re.fullmatch(r"[\w ./*'&=-]+", line)

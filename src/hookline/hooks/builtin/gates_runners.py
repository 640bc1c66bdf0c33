"""Tables of how projects run their tests and linters, by the files that tell of them.

The first row of a table that holds for a project is the one that counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable


class Line(NamedTuple):
    """A command; it counts if a file is there, a program is on PATH, a module can be imported."""

    words: str
    file: str | None = None
    program: str | None = None
    module: str | None = None


class Runner(NamedTuple):
    """A file that tells of a runner, and its commands, best first.

    `nothing` is the exit code that means that there was nothing to run. A `hint` alone proves
    nothing: without a command that can be started it is passed over.
    """

    file: str
    lines: tuple[Line, ...]
    holds: Callable[[str], bool] = lambda text: True
    nothing: int | None = None
    hint: bool = False


# What the tables are made of.


def _mentions(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.search(pattern, text, re.MULTILINE) is not None


def _has_script(name: str) -> Callable[[str], bool]:
    def holds(text: str) -> bool:
        try:
            scripts = msgspec.json.decode(text, type=dict[str, object]).get("scripts")
        except (msgspec.MsgspecError, RecursionError):
            return False
        line = scripts.get(name) if isinstance(scripts, dict) else None
        # What `npm init` writes where there are no tests.
        return isinstance(line, str | list) and "no test specified" not in line

    return holds


def _has_target(name: str) -> Callable[[str], bool]:
    """Whether a Makefile or a justfile has a target of that name."""

    def holds(text: str) -> bool:
        for line in text.splitlines():
            targets, colon, rest = line.partition(":")
            if colon and name in targets.split() and line[:1] not in ("\t", " ", "#"):
                return not rest.startswith("=")
        return False

    return holds


def _python(tool: str, arguments: str) -> tuple[Line, ...]:
    """A Python tool: the folder's own environment first, the one on PATH last."""
    return (
        Line(f".venv/bin/python -m {tool} {arguments}", file=f".venv/bin/{tool}"),
        Line(f"uv run {tool} {arguments}", file="uv.lock"),
        Line(f"poetry run {tool} {arguments}", file="poetry.lock"),
        Line(f"{tool} {arguments}"),
        Line(f"python3 -m {tool} {arguments}", module=tool),
    )


def _node(script: str) -> tuple[Line, ...]:
    return (
        Line(f"pnpm run {script}", file="pnpm-lock.yaml"),
        Line(f"yarn run {script}", file="yarn.lock"),
        Line(f"bun run {script}", file="bun.lock"),
        Line(f"bun run {script}", file="bun.lockb"),
        Line(f"npm run --silent {script}"),
    )


def _lines(*words: str) -> tuple[Line, ...]:
    return tuple(Line(each) for each in words)


def _makefiles(target: str) -> tuple[Runner, ...]:
    names = ("GNUmakefile", "makefile", "Makefile")
    made = [Runner(name, _lines(f"make {target}"), _has_target(target)) for name in names]
    just = [
        Runner(n, _lines(f"just {target}"), _has_target(target)) for n in ("justfile", ".justfile")
    ]
    return (*made, *just)


_PYTEST = _python("pytest", "-q")
_GRADLE = (Line("./gradlew test", file="gradlew"), Line("gradle test"))
_NO_TESTS = 5  # pytest's word for: nothing was collected

TEST_RUNNERS: tuple[Runner, ...] = (
    Runner("pytest.ini", _PYTEST, nothing=_NO_TESTS),
    Runner(".pytest.ini", _PYTEST, nothing=_NO_TESTS),
    Runner("pyproject.toml", _PYTEST, _mentions(r"^\[tool\.pytest|[\"']pytest\b"), _NO_TESTS),
    Runner("setup.cfg", _PYTEST, _mentions(r"^\[tool:pytest\]"), _NO_TESTS),
    Runner("conftest.py", _PYTEST, nothing=_NO_TESTS),
    Runner("tests/conftest.py", _PYTEST, nothing=_NO_TESTS),
    Runner("tox.ini", _python("tox", "-q")),
    Runner("noxfile.py", _python("nox", "")),
    Runner("tests/**/test_*.py", _PYTEST, nothing=_NO_TESTS, hint=True),
    Runner("package.json", _node("test"), _has_script("test")),
    Runner("deno.json", _lines("deno test")),
    Runner("Cargo.toml", _lines("cargo test --quiet")),
    Runner("go.mod", _lines("go test ./...")),
    Runner("build.gradle", _GRADLE),
    Runner("build.gradle.kts", _GRADLE),
    Runner("pom.xml", (Line("./mvnw -q test", file="mvnw"), Line("mvn -q test"))),
    Runner("build.sbt", _lines("sbt test")),
    Runner("mix.exs", _lines("mix test")),
    Runner(".rspec", (Line("bundle exec rspec", file="Gemfile"), Line("rspec"))),
    Runner("spec/spec_helper.rb", (Line("bundle exec rspec", file="Gemfile"), Line("rspec"))),
    Runner(
        "Rakefile",
        (Line("bundle exec rake test", file="Gemfile"), Line("rake test")),
        _mentions(r"TestTask|task\s*\(?\s*:?[\"']?test\b"),
    ),
    Runner("composer.json", _lines("composer test"), _has_script("test")),
    Runner("phpunit.xml", (Line("vendor/bin/phpunit", file="vendor/bin/phpunit"), Line("phpunit"))),
    Runner("Package.swift", _lines("swift test")),
    Runner("pubspec.yaml", _lines("dart test")),
    *_makefiles("test"),
)

# npx would fetch what is not installed, so it is told not to.
_ESLINT = _lines("npx --no-install eslint .")
_RUFF = (
    Line(".venv/bin/ruff check .", file=".venv/bin/ruff"),
    Line("uv run ruff check .", file="uv.lock"),
    Line("ruff check ."),
)

LINTERS: tuple[Runner, ...] = (
    Runner("ruff.toml", _RUFF),
    Runner(".ruff.toml", _RUFF),
    Runner("pyproject.toml", _RUFF, _mentions(r"^\[tool\.ruff|[\"']ruff\b")),
    Runner(".flake8", _python("flake8", "")),
    Runner("package.json", _node("lint"), _has_script("lint")),
    *(Runner(f"eslint.config.{end}", _ESLINT) for end in ("js", "mjs", "cjs", "ts")),
    *(Runner(f".eslintrc.{end}", _ESLINT) for end in ("json", "js", "cjs", "yml", "yaml")),
    Runner("biome.json", _lines("npx --no-install biome check .")),
    *(Runner(f".golangci.{end}", _lines("golangci-lint run")) for end in ("yml", "yaml", "toml")),
    Runner("go.mod", _lines("go vet ./...")),
    Runner(
        "Cargo.toml",
        (Line("cargo clippy --quiet -- -D warnings", program="cargo-clippy"),),
        hint=True,
    ),
    Runner(".rubocop.yml", (Line("bundle exec rubocop", file="Gemfile"), Line("rubocop"))),
    Runner(".credo.exs", _lines("mix credo")),
    *_makefiles("lint"),
)

"""Rust, Go, the JVM and other languages, and the targets of make and just, which cover any."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.hooks.runners.folder import is_plain_path, table
from hookline.hooks.runners.node import JAVASCRIPT

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.hooks.runners.folder import Folder, Runner

    Finder = Callable[[Folder], Runner | None]

ANY = "any"
_MOST_MODULES = 100
_GRADLE = tuple(f"{name}.gradle{end}" for name in ("build", "settings") for end in ("", ".kts"))
_MAKEFILES = dict.fromkeys(("GNUmakefile", "makefile", "Makefile"), "make")
_MAKEFILES |= dict.fromkeys(("justfile", ".justfile", "Justfile"), "just")


# Rust and Go, with their workspaces


def cargo(line: str, program: str | None = None) -> Finder:
    """A cargo command for the package, or for every member of the workspace."""

    def find(folder: Folder) -> Runner | None:
        if not folder.has("Cargo.toml"):
            return None
        every = " --workspace" if folder.mentions("Cargo.toml", r"^\[workspace\b") else ""
        return folder.runner("rust", line.format(every=every), "Cargo.toml", program=program)

    return find


def clippy(folder: Folder) -> Runner | None:
    """Clippy is a part of Rust that need not be installed."""
    found = cargo("cargo clippy --quiet{every} -- -D warnings", "cargo-clippy")(folder)
    return found if found and found.missing is None else None


def go(verb: str) -> Finder:
    """A go command for the module, or for every module of the workspace."""

    def find(folder: Folder) -> Runner | None:
        if folder.has("go.work"):
            modules = _modules(folder.text("go.work"))
            return folder.runner("go", f"go {verb} {modules}", "go.work") if modules else None
        found = folder.has("go.mod")
        return folder.runner("go", f"go {verb} ./...", "go.mod") if found else None

    return find


def _modules(text: str) -> str | None:
    """The modules of a workspace as patterns; None if one cannot be named in a shell line."""
    used: list[str] = []
    is_block = False
    for line in text.splitlines():
        words = line.partition("//")[0].replace("(", " ( ").split()
        if words[:1] == ["use"] or is_block:
            is_block = ")" not in words and (is_block or "(" in words)
            used += [word for word in words if word not in ("use", "(", ")")]
    paths = [each.strip('"').removeprefix("./").rstrip("/") or "." for each in used]
    if len(paths) > _MOST_MODULES or not all(p == "." or is_plain_path(p) for p in paths):
        return None
    return " ".join("./..." if path == "." else f"./{path}/..." for path in paths)


def golangci(folder: Folder) -> Runner | None:
    """golangci-lint, where it is configured."""
    found = folder.first(*(f".golangci.{end}" for end in ("yml", "yaml", "toml")))
    return folder.runner("go", "golangci-lint run", found) if found else None


# The JVM: a wrapper in the project comes first


def gradle(folder: Folder) -> Runner | None:
    """Gradle, by the project's wrapper if it has one."""
    found = folder.first(*_GRADLE)
    return _wrapped(folder, "gradlew", "gradle", "test", found) if found else None


def maven(folder: Folder) -> Runner | None:
    """Maven, by the project's wrapper if it has one."""
    found = folder.has("pom.xml")
    return _wrapped(folder, "mvnw", "mvn", "-q test", "pom.xml") if found else None


def _wrapped(folder: Folder, wrapper: str, program: str, rest: str, source: str) -> Runner:
    if not folder.has(wrapper):
        return folder.runner("jvm", f"{program} {rest}", source)
    start = f"./{wrapper}" if folder.can_run(f"./{wrapper}") else f"sh {wrapper}"
    return folder.runner("jvm", f"{start} {rest}", source)


# Languages with one file that shows it, and one command


class _FileSign(NamedTuple):
    """A file that shows a command; `holds` is what it must contain."""

    file: str
    line: str
    holds: str = ""


def rows(language: str, *known: _FileSign) -> Finder:
    """The first row of a table that applies."""

    def find(folder: Folder) -> Runner | None:
        for file, line, holds in known:
            if folder.has(file) and folder.mentions(file, holds):
                return folder.runner(language, line, file)
        return None

    return find


def bundled(*known: _FileSign) -> Finder:
    """A Ruby tool, from the Gemfile if there is one."""

    def find(folder: Folder) -> Runner | None:
        prefix = "bundle exec " if folder.has("Gemfile") else ""
        return rows("ruby", *(each._replace(line=prefix + each.line) for each in known))(folder)

    return find


deno = rows(JAVASCRIPT, _FileSign("deno.json", "deno test"), _FileSign("deno.jsonc", "deno test"))
sbt = rows("jvm", _FileSign("build.sbt", "sbt test"))
mix = rows("elixir", _FileSign("mix.exs", "mix test"))
credo = rows("elixir", _FileSign(".credo.exs", "mix credo"))
swift = rows("swift", _FileSign("Package.swift", "swift test"))
dart = rows("dart", _FileSign("pubspec.yaml", "dart test"))
ruby_tests = bundled(
    _FileSign(".rspec", "rspec"),
    _FileSign("spec/spec_helper.rb", "rspec"),
    _FileSign("Rakefile", "rake test", r"TestTask|\btask[ (]*:?[\"']?test\b"),
)
rubocop = bundled(_FileSign(".rubocop.yml", "rubocop"))


def php(folder: Folder) -> Runner | None:
    """The script of composer.json, else phpunit."""
    if table(folder.json("composer.json").get("scripts")).get("test"):
        return folder.runner("php", "composer test", "composer.json")
    found = folder.first("phpunit.xml", "phpunit.xml.dist")
    local = "vendor/bin/phpunit"
    line = local if folder.can_run(local) else "phpunit"
    return folder.runner("php", line, found) if found else None


# What covers every language


def targets(*names: str) -> Finder:
    """The first of these targets that a Makefile or a justfile has."""

    def find(folder: Folder) -> Runner | None:
        for file, program in _MAKEFILES.items():
            known = _targets(folder.text(file), program == "just")
            if (found := next((name for name in names if name in known), None)) is not None:
                return folder.runner(ANY, f"{program} {found}", file)
        return None

    return find


def _targets(text: str, is_just: bool) -> set[str]:
    found: set[str] = set()
    for line in text.splitlines():
        before, colon, rest = line.partition(":")
        if colon and line[:1] not in ("\t", " ", "#") and not rest.startswith("="):
            words = before.removeprefix("@").split()
            found.update(words[:1] if is_just else words)  # just has parameters after the name
    return found

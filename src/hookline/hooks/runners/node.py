"""JavaScript: scripts of package.json, its workspaces, vitest, jest, node's own runner; linters."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.hooks.language.globs import glob_match
from hookline.hooks.runners.folder import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.hooks.runners.folder import Folder, Runner

JAVASCRIPT = "javascript"
PACKAGE, PNPM = "package.json", "pnpm-workspace.yaml"
_CONFIGS = {
    "eslint .": (
        *(f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts")),
        *(f".eslintrc.{end}" for end in ("json", "js", "cjs", "yml", "yaml")),
    ),
    "biome check .": ("biome.json", "biome.jsonc"),
}
# Scripts that never end by themselves, and those that end where they are told that nobody looks.
_WATCHING = re.compile(r"\b(vitest|jest)\b(?= (?:watch|dev)\b|.*--watch(?:All)?\b(?!=false))")
_INTERACTIVE = re.compile(r"\bvitest\b(?!.*\brun\b)|\breact-scripts test\b")
_ONCE = {"vitest": "vitest run", "jest": "jest"}
_TEST_FILE = re.compile(r"(^|/)([^/]*[._-])?(test|spec)\.[cm]?[jt]sx?$|(^|/)test/[^/]+\.[cm]?js$")
_MOST_READ = 20
_MOST_PATTERNS, _LONGEST = 50, 1000


class _PackageManager(NamedTuple):
    """How a package manager runs the script `test`, other scripts, programs, and all members."""

    test: str
    script: str
    program: str
    members: str


# npx would fetch what is not installed, so it is told not to.
_MANAGERS = {
    "npm": _PackageManager(
        "npm test --silent",
        "npm run --silent",
        "npx --no-install",
        "npm test --silent --workspaces --if-present",
    ),
    "pnpm": _PackageManager("pnpm test", "pnpm run", "pnpm exec", "pnpm -r test"),
    "yarn": _PackageManager(
        "yarn test", "yarn run", "yarn run", "yarn workspaces foreach --all run test"
    ),
    "bun": _PackageManager(
        "bun run test", "bun run", "bun x --no-install", "bun run --filter '*' test"
    ),
}
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    PNPM: "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
_CLASSIC = "yarn workspaces run test"


class _Package:
    """A folder with what its package.json says."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self._said = folder, folder.json(PACKAGE)
        self.named = str(self._said.get("packageManager"))

    def script(self, name: str) -> str | None:
        """The line of a script; None for what `npm init` writes where there are no tests."""
        line = table(self._said.get("scripts")).get(name)
        if not isinstance(line, str) or not line.strip() or "no test specified" in line:
            return None
        return line[:_LONGEST]

    def manager(self) -> tuple[str, str]:
        """The package manager and the file that shows it; members share that of the root."""
        for place in (self.folder, self.folder.top):
            for lock, name in _LOCKS.items():
                if place.has(lock):
                    return name, lock if place is self.folder else PACKAGE
        named = self.named.partition("@")[0]
        return (named if named in _MANAGERS else "npm"), PACKAGE

    def patterns(self) -> list[str]:
        """The folders of a workspace, as package.json or pnpm's own file lists them."""
        if self.folder.has(PNPM):
            text = self.folder.text(PNPM)
            listed: Any = re.findall(r"(?:^ *- +|[\[,] *)['\"]?([^\s'\",\]]+)", text, re.M) or [
                "**"
            ]
        else:
            listed = self._said.get("workspaces")
            listed = table(listed).get("packages", listed)
        texts = listed[:_MOST_PATTERNS] if isinstance(listed, list) else []
        return [each[:_LONGEST] for each in texts if isinstance(each, str)]

    def is_modern(self) -> bool:
        """Whether it is yarn 2 or newer, whose lock file has another format."""
        return (
            self.folder.has(".yarnrc.yml")
            or self.folder.mentions("yarn.lock", "^__metadata:")
            or bool(re.match(r"yarn@([2-9]|[1-9]\d)", self.named))
        )

    def required(self) -> str | None:
        """The line of a test tool that the package requires and no script runs."""
        tools = {
            **table(self._said.get("dependencies")),
            **table(self._said.get("devDependencies")),
        }
        return next((line for name, line in _ONCE.items() if name in tools), None)


def tests(folder: Folder) -> Runner | None:
    """The script `test`, else that of the members, else what the package requires."""
    package = _Package(folder)
    name, source = package.manager()
    manager = _MANAGERS[name]
    if (script := package.script("test")) is not None:
        return folder.runner(JAVASCRIPT, _once(script, manager), source)
    if (members := _members(package, name)) is not None:
        return members
    if (tool := package.required()) is not None:
        return folder.runner(JAVASCRIPT, f"{manager.program} {tool}", PACKAGE)
    return _own_runner(folder, name)


def linter(folder: Folder) -> Runner | None:
    """The script `lint`, eslint or biome."""
    package = _Package(folder)
    manager = _MANAGERS[package.manager()[0]]
    if package.script("lint") is not None:
        return folder.runner(JAVASCRIPT, f"{manager.script} lint", PACKAGE)
    for line, configs in _CONFIGS.items():
        if found := folder.first(*configs):
            return folder.runner(JAVASCRIPT, f"{manager.program} {line}", found)
    return None


def _once(script: str, manager: _PackageManager) -> str:
    """The line that runs a script and ends."""
    if found := _WATCHING.search(script):
        return f"{manager.program} {_ONCE[found[1]]}"
    return f"CI=true {manager.test}" if _INTERACTIVE.search(script) else manager.test


def _members(package: _Package, manager: str) -> Runner | None:
    """The tests of every member of a workspace."""
    folder = package.folder
    members = list(_matching(folder, package.patterns()))
    found = [_Package(each).script("test") for each in members]
    tested = [each for each in found if each is not None]
    # Members that one line cannot test are found by themselves.
    if not tested or any(map(_WATCHING.search, tested)):
        return None
    line = _MANAGERS[manager].members
    if manager == "yarn" and not package.is_modern():
        if len(tested) < len(members):  # it fails at a member without the script
            return None
        line = _CLASSIC
    once = "CI=true " if any(map(_INTERACTIVE.search, tested)) else ""
    return folder.runner(JAVASCRIPT, f"{once}{line}", PNPM if folder.has(PNPM) else PACKAGE)


def _matching(folder: Folder, patterns: list[str]) -> Iterator[Folder]:
    known = [each.removeprefix("./").rstrip("/") for each in patterns]
    for member in folder.packages(3):
        path = member.name.removeprefix(folder.name).lstrip("/")
        # With the slash, `web` names a folder at the top and not one anywhere.
        if member.has(PACKAGE) and any(glob_match(path, f"/{each}") for each in known):
            yield member


def _own_runner(folder: Folder, manager: str) -> Runner | None:
    """The runner that comes with node, or with bun, if a test file asks for it."""
    for path in islice(folder.files(_TEST_FILE, "test", "tests", "src", "lib"), _MOST_READ):
        if "node:test" in folder.text(path):
            return folder.runner(JAVASCRIPT, "node --test", path)
        if manager == "bun" and "bun:test" in folder.text(path):
            return folder.runner(JAVASCRIPT, "bun test", path)
    return None

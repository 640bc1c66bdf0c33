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


class _Manager(NamedTuple):
    """How a package manager runs the script `test`, other scripts, programs, and all members."""

    test: str
    script: str
    program: str
    members: str


# npx would fetch what is not installed, so it is told not to.
_MANAGERS = {
    "npm": _Manager(
        "npm test --silent",
        "npm run --silent",
        "npx --no-install",
        "npm test --silent --workspaces --if-present",
    ),
    "pnpm": _Manager("pnpm test", "pnpm run", "pnpm exec", "pnpm -r test"),
    "yarn": _Manager("yarn test", "yarn run", "yarn run", "yarn workspaces foreach --all run test"),
    "bun": _Manager("bun run test", "bun run", "bun x --no-install", "bun run --filter '*' test"),
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


def tests(folder: Folder) -> Runner | None:
    """The script `test`, else that of the members, else what the package requires."""
    package = folder.json(PACKAGE)
    manager, source = _manager(folder, package)
    script = _script(package, "test")
    if script is not None:
        return folder.runner(JAVASCRIPT, _once(script, _MANAGERS[manager]), source)
    return (
        _members(folder, package, manager)
        or _required(folder, package, _MANAGERS[manager])
        or _own_runner(folder, manager)
    )


def linter(folder: Folder) -> Runner | None:
    """The script `lint`, eslint or biome."""
    package = folder.json(PACKAGE)
    manager = _MANAGERS[_manager(folder, package)[0]]
    if _script(package, "lint") is not None:
        return folder.runner(JAVASCRIPT, f"{manager.script} lint", PACKAGE)
    for line, configs in _CONFIGS.items():
        if found := folder.first(*configs):
            return folder.runner(JAVASCRIPT, f"{manager.program} {line}", found)
    return None


def _manager(folder: Folder, package: dict[str, Any]) -> tuple[str, str]:
    """The package manager and the file that shows it; members share that of the root."""
    for place in (folder, folder.top):
        for lock, name in _LOCKS.items():
            if place.has(lock):
                return name, lock if place is folder else PACKAGE
    named = str(package.get("packageManager")).partition("@")[0]
    return (named if named in _MANAGERS else "npm"), PACKAGE


def _script(package: dict[str, Any], name: str) -> str | None:
    line = table(package.get("scripts")).get(name)
    # What `npm init` writes where there are no tests.
    if not isinstance(line, str) or not line.strip() or "no test specified" in line:
        return None
    return line[:_LONGEST]


def _once(script: str, manager: _Manager) -> str:
    """The line that runs a script and ends."""
    if found := _WATCHING.search(script):
        return f"{manager.program} {_ONCE[found[1]]}"
    return f"CI=true {manager.test}" if _INTERACTIVE.search(script) else manager.test


def _members(folder: Folder, package: dict[str, Any], manager: str) -> Runner | None:
    """The tests of every member of a workspace."""
    source = PNPM if folder.has(PNPM) else PACKAGE
    members = list(_matching(folder, _patterns(folder, package)))
    found = [_script(each.json(PACKAGE), "test") for each in members]
    tested = [each for each in found if each is not None]
    # Members that one line cannot test are found by themselves.
    if not tested or any(map(_WATCHING.search, tested)):
        return None
    line = _MANAGERS[manager].members
    if manager == "yarn" and not _is_modern(folder, package):
        if len(tested) < len(members):  # it fails at a member without the script
            return None
        line = _CLASSIC
    once = "CI=true " if any(map(_INTERACTIVE.search, tested)) else ""
    return folder.runner(JAVASCRIPT, f"{once}{line}", source)


def _patterns(folder: Folder, package: dict[str, Any]) -> list[str]:
    """The folders of a workspace, as package.json or pnpm's own file lists them."""
    if folder.has(PNPM):
        listed: Any = re.findall(r"(?:^ *- +|[\[,] *)['\"]?([^\s'\",\]]+)", folder.text(PNPM), re.M)
        listed = listed or ["**"]
    else:
        listed = package.get("workspaces")
        listed = table(listed).get("packages", listed)
    texts = listed[:_MOST_PATTERNS] if isinstance(listed, list) else []
    return [each[:_LONGEST] for each in texts if isinstance(each, str)]


def _matching(folder: Folder, patterns: list[str]) -> Iterator[Folder]:
    known = [each.removeprefix("./").rstrip("/") for each in patterns]
    for member in folder.packages(3):
        path = member.name.removeprefix(folder.name).lstrip("/")
        # With the slash, `web` names a folder at the top and not one anywhere.
        if member.has(PACKAGE) and any(glob_match(path, f"/{each}") for each in known):
            yield member


def _is_modern(folder: Folder, package: dict[str, Any]) -> bool:
    """Whether it is yarn 2 or newer, whose lock file has another format."""
    named = str(package.get("packageManager"))
    return (
        folder.has(".yarnrc.yml")
        or folder.mentions("yarn.lock", "^__metadata:")
        or bool(re.match(r"yarn@([2-9]|[1-9]\d)", named))
    )


def _required(folder: Folder, package: dict[str, Any], manager: _Manager) -> Runner | None:
    """A test tool that the package requires and no script runs."""
    required = {**table(package.get("dependencies")), **table(package.get("devDependencies"))}
    found = next((line for name, line in _ONCE.items() if name in required), None)
    return folder.runner(JAVASCRIPT, f"{manager.program} {found}", PACKAGE) if found else None


def _own_runner(folder: Folder, manager: str) -> Runner | None:
    """The runner that comes with node, or with bun, if a test file asks for it."""
    for path in islice(folder.files(_TEST_FILE, "test", "tests", "src", "lib"), _MOST_READ):
        if "node:test" in folder.text(path):
            return folder.runner(JAVASCRIPT, "node --test", path)
        if manager == "bun" and "bun:test" in folder.text(path):
            return folder.runner(JAVASCRIPT, "bun test", path)
    return None

"""Small projects of many layouts, each with one test, and how an expert would run it.

They need no network: where a tool would install pytest, the one on PATH is used.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.e2e.first_run import Place

CHECKED = "def test_it():\n    with open('broken') as file:\n        assert not file.read()\n"
PYTHON = '[project]\nname = "shop"\nversion = "1"\nrequires-python = ">=3.11"\n'
PYTEST = {"pyproject.toml": f"{PYTHON}[tool.pytest.ini_options]\n", "tests/test_it.py": CHECKED}
UV_LOCK = """\
version = 1
requires-python = ">=3.11"

[[package]]
name = "shop"
version = "1"
source = { virtual = "." }
"""
UV_WORKSPACE_LOCK = """\
version = 1
requires-python = ">=3.11"

[manifest]
members = ["lib", "shop"]

[[package]]
name = "lib"
version = "1"
source = { virtual = "packages/lib" }

[[package]]
name = "shop"
version = "1"
source = { virtual = "." }
"""
NODE = (
    "const fs = require('node:fs'), test = require('node:test');\n"
    "test('it', () => { if (fs.readFileSync('broken', 'utf8')) throw new Error('broken'); });\n"
)
# Stands for a test tool that is installed in the project.
TOOL = (
    "#!/usr/bin/env node\n"
    "process.exit(require('node:fs').readFileSync('broken', 'utf8') ? 1 : 0);\n"
)
BUN = (
    "import {expect, test} from 'bun:test';\nimport {readFileSync} from 'node:fs';\n"
    "test('it', () => expect(readFileSync('broken', 'utf8')).toBe(''));\n"
)
GO = """\
package shop

import (
	"os"
	"testing"
)

func TestIt(t *testing.T) {
	found, _ := os.ReadFile(os.Getenv("BROKEN"))
	if len(found) > 0 {
		t.Fatal("broken")
	}
}
"""
RUST = """\
#[test]
fn it() {
    let place = std::env::var("BROKEN").unwrap();
    assert_eq!(std::fs::read_to_string(place).unwrap(), "");
}
"""
SHELL = "test ! -s broken"
WRAPPER = f"#!/bin/sh\n{SHELL}\n"


def yarn_lock(**folders: str) -> str:
    """What yarn 4.18 writes for a project without dependencies, or for one with these members."""
    entries = "".join(
        f'''
"{name}@workspace:{folder}":
  version: 0.0.0-use.local
  resolution: "{name}@workspace:{folder}"
  languageName: unknown
  linkType: soft
'''
        for name, folder in folders.items()
    )
    return f"__metadata:\n  version: 10\n{entries}"


class Layout(NamedTuple):
    """A project's files, the commands that test it, and the programs that these start.

    A file named in `runnable` can be executed; `version` is what the last program's version begins
    with if others of that name do not do. Its test fails once the file `broken` in its
    folder, which `$BROKEN` names too, is not empty.
    """

    files: Mapping[str, str]
    commands: tuple[str, ...]
    programs: tuple[str, ...]
    broken: str = "broken"
    runnable: tuple[str, ...] = ()
    version: str = ""

    def make(self, place: Place) -> None:
        """Write the project into a git repository."""
        place.git()
        for name, text in {"broken": "", self.broken: "", **self.files}.items():
            place.put(name, text, 0o755 if name in self.runnable else 0o644)


def package(**more: object) -> str:
    return json.dumps({"name": "shop", "version": "1.0.0", **more})


def scripts(test: str) -> str:
    return package(scripts={"test": test})


def cargo(name: str) -> str:
    return f'[package]\nname = "{name}"\nversion = "1.0.0"\nedition = "2021"\n'


LAYOUTS: dict[str, Layout] = {
    "uv": Layout({**PYTEST, "uv.lock": UV_LOCK}, ("uv run pytest -q",), ("uv",)),
    "uv workspace": Layout(
        {
            "pyproject.toml": f"{PYTHON}[tool.uv.workspace]\nmembers = ['packages/*']\n",
            "uv.lock": UV_WORKSPACE_LOCK,
            "packages/lib/pyproject.toml": (
                f"{PYTHON.replace('shop', 'lib')}[tool.pytest.ini_options]\n"
            ),
            "packages/lib/tests/test_it.py": CHECKED,
        },
        ("uv run --all-packages pytest -q",),
        ("uv",),
    ),
    "poetry": Layout(
        {
            **PYTEST,
            "pyproject.toml": f"{PYTEST['pyproject.toml']}[tool.poetry]\npackage-mode = false\n",
        },
        ("poetry run pytest -q",),
        ("poetry",),
    ),
    "pdm": Layout({**PYTEST, "pdm.lock": ""}, ("pdm run pytest -q",), ("pdm",)),
    "hatch": Layout(
        {
            **PYTEST,
            "pyproject.toml": (
                f"{PYTHON}[tool.hatch.envs.default]\nskip-install = true\n"
                '[tool.hatch.envs.default.scripts]\ntest = "pytest -q"\n'
            ),
        },
        ("hatch run test",),
        ("hatch",),
    ),
    "tox": Layout(
        {
            **PYTEST,
            "tox.ini": (
                "[tox]\nenv_list = py38, py311\n[testenv]\npackage = skip\n"
                "allowlist_externals = pytest\ncommands = pytest -q\n"
            ),
        },
        ("tox -q -e py",),
        ("tox",),
    ),
    "nox": Layout(
        {
            "noxfile.py": (
                "import nox\n\n\n@nox.session(venv_backend='none')\n"
                "def tests(session):\n    session.run('pytest', '-q')\n"
            ),
            "tests/test_it.py": CHECKED,
        },
        ("nox -s tests",),
        ("nox",),
    ),
    "pytest": Layout(PYTEST, ("pytest -q",), ("pytest",)),
    "npm and vitest": Layout(
        {
            "package.json": scripts("vitest run"),
            "package-lock.json": "{}",
            "node_modules/.bin/vitest": TOOL,
        },
        ("npm test --silent",),
        ("npm",),
        runnable=("node_modules/.bin/vitest",),
    ),
    "npm and jest": Layout(
        {
            "package.json": package(devDependencies={"jest": "30"}),
            "package-lock.json": "{}",
            "node_modules/.bin/jest": TOOL,
        },
        ("npx --no-install jest",),
        ("npx",),
        runnable=("node_modules/.bin/jest",),
    ),
    "npm workspace": Layout(
        {
            "package.json": package(name="root", workspaces=["packages/*"]),
            "packages/shop/package.json": scripts("node --test"),
            "packages/shop/it.test.js": NODE,
            "packages/docs/package.json": package(name="docs"),
        },
        ("npm test --silent --workspaces --if-present",),
        ("npm",),
        "packages/shop/broken",
    ),
    "node --test": Layout(
        {"package.json": package(), "test/it.test.js": NODE}, ("node --test",), ("node",)
    ),
    "pnpm workspace": Layout(
        {
            "package.json": package(name="root"),
            "pnpm-workspace.yaml": "packages: ['packages/*']\n",
            "packages/shop/package.json": scripts("node --test"),
            "packages/shop/it.test.js": NODE,
        },
        ("pnpm -r test",),
        ("pnpm",),
        "packages/shop/broken",
    ),
    "yarn": Layout(
        {"package.json": scripts("node --test"), "yarn.lock": "", "it.test.js": NODE},
        ("yarn test",),
        ("yarn",),
        version="1.",
    ),
    "yarn 4": Layout(
        {
            "package.json": scripts("node --test"),
            "yarn.lock": yarn_lock(shop="."),
            "it.test.js": NODE,
        },
        ("yarn test",),
        ("yarn",),
        version="4.18.",
    ),
    "yarn 4 workspace": Layout(
        {
            "package.json": package(name="root", private=True, workspaces=["shop", "docs"]),
            "yarn.lock": yarn_lock(docs="docs", root=".", shop="shop"),
            "shop/package.json": scripts("node --test"),
            "shop/it.test.js": NODE,
            "docs/package.json": package(name="docs"),
        },
        ("yarn workspaces foreach --all run test",),
        ("yarn",),
        "shop/broken",
        version="4.18.",
    ),
    "yarn workspace": Layout(
        {
            "package.json": package(name="root", private=True, workspaces=["shop"]),
            "yarn.lock": "",
            "shop/package.json": scripts("node --test"),
            "shop/it.test.js": NODE,
        },
        ("yarn workspaces run test",),
        ("yarn",),
        "shop/broken",
        version="1.",
    ),
    "bun": Layout(
        {"package.json": package(), "bun.lock": "", "it.test.ts": BUN}, ("bun test",), ("bun",)
    ),
    "go": Layout(
        {"go.mod": "module shop\n\ngo 1.19\n", "it_test.go": GO}, ("go test ./...",), ("go",)
    ),
    "go workspace": Layout(
        {
            "go.work": "go 1.19\n\nuse (\n\t./api\n\t./lib\n)\n",
            "api/go.mod": "module example.com/api\n\ngo 1.19\n",
            "api/it_test.go": GO,
            "lib/go.mod": "module example.com/lib\n\ngo 1.19\n",
            "lib/it_test.go": GO,
        },
        ("go test ./api/... ./lib/...",),
        ("go",),
    ),
    "cargo": Layout(
        {"Cargo.toml": cargo("shop"), "src/lib.rs": RUST}, ("cargo test --quiet",), ("cargo",)
    ),
    "cargo workspace": Layout(
        {
            "Cargo.toml": f'{cargo("shop")}[workspace]\nmembers = ["lib"]\n',
            "src/lib.rs": "",
            "lib/Cargo.toml": cargo("lib"),
            "lib/src/lib.rs": RUST,
        },
        ("cargo test --quiet --workspace",),
        ("cargo",),
    ),
    "make": Layout({"Makefile": f"test:\n\t{SHELL}\n"}, ("make test",), ("make",)),
    "just": Layout({"justfile": f"test:\n  {SHELL}\n"}, ("just test",), ("just",)),
    "gradle": Layout({"build.gradle.kts": ""}, ("gradle test",), ("gradle",)),
    "gradle with its wrapper": Layout(
        {"settings.gradle": "", "gradlew": WRAPPER}, ("./gradlew test",), (), runnable=("gradlew",)
    ),
    "maven": Layout({"pom.xml": "<project/>"}, ("mvn -q test",), ("mvn",)),
    "maven with its wrapper": Layout(
        {"pom.xml": "<project/>", "mvnw": WRAPPER}, ("./mvnw -q test",), (), runnable=("mvnw",)
    ),
    "two languages": Layout(
        {
            **{f"api/{name}": text for name, text in PYTEST.items()},
            "api/uv.lock": UV_LOCK,
            "api/broken": "",
            "web/package.json": scripts("node --test"),
            "web/it.test.js": NODE,
        },
        ("cd api && uv run pytest -q", "cd web && npm test --silent"),
        ("uv", "npm"),
        "web/broken",
    ),
    "a package in a folder": Layout(
        {"services/api/go.mod": "module api\n\ngo 1.19\n", "services/api/it_test.go": GO},
        ("cd services/api && go test ./...",),
        ("go",),
    ),
}
# These would ask their registries for plugins; their wrappers are tried instead.
NEED_NETWORK = ("gradle", "maven")

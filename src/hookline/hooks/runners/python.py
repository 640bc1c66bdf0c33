"""Python: pytest through the project's manager (uv, poetry, pdm, pipenv, hatch), tox, nox; ruff."""

from __future__ import annotations

import configparser
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hookline.hooks.runners.folder import Folder, Runner

PYTHON = "python"
PROJECT = "pyproject.toml"
_TEST_FILE = re.compile(r"(^|/)test_\w+\.py$")
_NO_TESTS = 5  # pytest's exit code if nothing was collected
_REQUIREMENTS = (
    *("requirements.txt", "requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt"),
    *("requirements/dev.txt", "requirements/test.txt", "setup.py", "Pipfile"),
)
# Manager -> the files that show it, and a table of pyproject.toml that does as well.
_MANAGERS = {
    "uv run": ("uv.lock", None),
    "poetry run": ("poetry.lock", r"^\[tool\.poetry\b"),
    "pdm run": ("pdm.lock", r"^\[tool\.pdm\b"),
    "pipenv run": ("Pipfile", None),
}


class _PythonManager(NamedTuple):
    prefix: str
    source: str


def tests(folder: Folder) -> Runner | None:
    """The project's own script, pytest in its environment, tox or nox, else pytest on PATH."""
    source = _shows_pytest(folder)
    if source is None and _is_workspace(folder):
        source = next(filter(None, map(_shows_pytest, folder.packages(2))), None)
    if own := _pdm_script(folder):
        return own
    if source is None:
        return _hatch(folder, None) or _tox(folder) or _nox(folder) or _by_files(folder)
    if manager := _manager(folder):
        return _managed(folder, manager)
    in_environment = _hatch(folder, source) or _in_venv(folder, "pytest", "-q", source)
    return in_environment or _tox(folder) or _nox(folder) or _plain(folder, source)


def linter(folder: Folder) -> Runner | None:
    """Ruff or flake8, where the project configures or requires it."""
    return _linter(folder, "ruff", "check --quiet .", "ruff.toml", ".ruff.toml") or _linter(
        folder, "flake8", "", ".flake8"
    )


# What shows pytest, and what runs it


def _shows_pytest(folder: Folder) -> str | None:
    if found := folder.first("pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py"):
        return found
    sections = {"setup.cfg": r"^\[tool:pytest\]", "tox.ini": r"^\[pytest\]"}
    for name, pattern in {PROJECT: r"^\[tool\.pytest\b", **sections}.items():
        if folder.mentions(name, pattern):
            return name
    return _required(folder, "pytest")


def _required(folder: Folder, package: str) -> str | None:
    """The file that requires a package."""
    if folder.mentions(PROJECT, rf"[\"']{package}\b|^{package} *="):
        return PROJECT
    pattern = rf"^ *[\"']?{package}\b(?!\.)"
    return next((name for name in _REQUIREMENTS if folder.mentions(name, pattern)), None)


def _is_workspace(folder: Folder) -> bool:
    return folder.mentions(PROJECT, r"^\[tool\.uv\.workspace\]")


def _manager(folder: Folder) -> _PythonManager | None:
    for prefix, (lock, pattern) in _MANAGERS.items():
        if folder.has(lock):
            return _PythonManager(prefix, lock)
        if pattern and folder.mentions(PROJECT, pattern):
            return _PythonManager(prefix, PROJECT)
    return None


def _managed(folder: Folder, manager: _PythonManager) -> Runner:
    every = " --all-packages" if manager.prefix == "uv run" and _is_workspace(folder) else ""
    line = f"{manager.prefix}{every} pytest -q"
    return folder.runner(PYTHON, line, manager.source, nothing=_NO_TESTS)


def _pdm_script(folder: Folder) -> Runner | None:
    found = _defines(folder.section(PROJECT, "tool.pdm.scripts"), "test")
    return folder.runner(PYTHON, "pdm run test", PROJECT) if found else None


def _defines(section: str, *keys: str) -> str | None:
    """The first of these keys that a section has."""
    found = (key for key in keys if re.search(rf"^{key}\b.*=", section, re.MULTILINE))
    return next(found, None)


def _hatch(folder: Folder, source: str | None) -> Runner | None:
    """A script of an environment, hatch's own environment for tests, or pytest in another."""
    named, envs = (PROJECT, "tool.hatch.envs")
    if folder.has("hatch.toml"):
        named, envs = "hatch.toml", "envs"
    if not folder.mentions(named, rf"^\[{re.escape(envs)}\."):
        return None
    for env, prefix in {"default": "", "test": "test:"}.items():
        own = folder.section(named, f"{envs}.{env}")
        scripts = folder.section(named, f"{envs}.{env}.scripts")
        keys = ("test",) if env == "default" else ("test", "run")
        if script := _defines(scripts, *keys):
            return folder.runner(PYTHON, f"hatch run {prefix}{script}", named)
        if re.search(r"[\"']pytest\b", own):
            line = f"hatch run {prefix}pytest -q"
            return folder.runner(PYTHON, line, named, nothing=_NO_TESTS)
    if source or folder.mentions(named, rf"^\[{re.escape(envs)}\.hatch-test\b"):
        return folder.runner(PYTHON, "hatch test", named, nothing=_NO_TESTS)
    return None


def _in_venv(folder: Folder, tool: str, arguments: str, source: str) -> Runner | None:
    if not folder.can_run(f".venv/bin/{tool}"):
        return None
    nothing = _NO_TESTS if tool == "pytest" else None
    line = f".venv/bin/python -m {tool} {arguments}".rstrip()
    return folder.runner(PYTHON, line, source, nothing=nothing)


def _tox(folder: Folder) -> Runner | None:
    tables = {"setup.cfg": r"^\[tox:tox\]", PROJECT: r"^\[tool\.tox\b"}
    found = folder.first("tox.ini", "tox.toml")
    found = found or next((n for n, p in tables.items() if folder.mentions(n, p)), None)
    if found is None or (found == "tox.ini" and _only_pytest(folder)):
        return None
    # `py` is the environment of this Python; the others need interpreters that may not be here.
    env = " -e py" if found == "tox.ini" and _has_base(folder.text(found)) else ""
    return folder.runner(PYTHON, f"tox -q{env}", found)


def _only_pytest(folder: Folder) -> bool:
    """Whether a tox.ini only configures pytest."""
    has = [folder.mentions("tox.ini", rf"^\[{name}\b") for name in ("pytest", "tox", "testenv")]
    return has == [True, False, False]


def _has_base(text: str) -> bool:
    """Whether an environment without a section would run something."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return False
    return parser.has_option("testenv", "commands")


def _nox(folder: Folder) -> Runner | None:
    if not folder.has("noxfile.py"):
        return None
    found = re.search(r"^def (tests?)\(", folder.text("noxfile.py"), re.MULTILINE)
    return folder.runner(PYTHON, f"nox -s {found[1]}" if found else "nox", "noxfile.py")


def _plain(folder: Folder, source: str) -> Runner:
    return folder.runner(PYTHON, "pytest -q", source, module="pytest", nothing=_NO_TESTS)


def _by_files(folder: Folder) -> Runner | None:
    """Test files alone prove little: they count only where pytest is installed."""
    found = next(folder.files(_TEST_FILE, "tests", "test"), None)
    plain = _plain(folder, found) if found else None
    return plain if plain and plain.missing is None else None


# Linters


def _linter(folder: Folder, tool: str, arguments: str, *configs: str) -> Runner | None:
    required = _required(folder, tool)
    own = folder.first(*configs)
    own = own or (PROJECT if folder.mentions(PROJECT, rf"^\[tool\.{tool}\b") else None)
    source = own or required
    if source is None:
        return None
    manager = _manager(folder)
    if manager and required:
        line = f"{manager.prefix} {tool} {arguments}".rstrip()
        return folder.runner(PYTHON, line, source)
    inside = _in_venv(folder, tool, arguments, source)
    line = f"{tool} {arguments}".rstrip()
    return inside or folder.runner(PYTHON, line, source, module=tool)

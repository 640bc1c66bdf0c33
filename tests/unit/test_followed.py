"""Which words of a validation command name test files that an agent may edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.hooks.followed import followed_files, without_followed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("tests/test_a.py", "tests/test_b.py", "tests/conftest.py", "a.test.ts", "t.sh"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("pass\n")
    (tmp_path / "tests/run.py").write_text("#!/usr/bin/env python3\n")
    (tmp_path / "tests/exec.py").write_text("pass\n")
    (tmp_path / "tests/exec.py").chmod(0o755)
    (tmp_path / "tests/link.py").symlink_to("test_a.py")
    for name in ("jest.config.js", "Makefile", "pyproject.toml", "hookline.yaml"):
        (tmp_path / name).write_text("x\n")
    (tmp_path / ".hookline/hooks").mkdir(parents=True)
    (tmp_path / ".hookline/hooks/a.py").write_text("pass\n")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "followed"),
    [
        ("pytest tests/test_a.py", ["tests/test_a.py"]),
        ("pytest -q tests/test_a.py tests/test_b.py", ["tests/test_a.py", "tests/test_b.py"]),
        ("pytest tests/test_a.py::test_one", ["tests/test_a.py"]),
        ("uv run pytest tests/test_a.py", ["tests/test_a.py"]),
        ("python -m pytest tests/test_a.py", ["tests/test_a.py"]),
        ("npx vitest run a.test.ts", ["a.test.ts"]),
        ("node --test a.test.ts", ["a.test.ts"]),
        # Nothing that steers the runner or is a program of its own.
        ("pytest tests/conftest.py tests/run.py tests/exec.py tests/link.py", []),
        ("jest jest.config.js", []),
        ("pytest -c pyproject.toml", []),
        ("pytest -p tests/test_a.py", []),
        ("pytest --rootdir tests/test_a.py", []),
        ("pytest .hookline/hooks/a.py", []),
        ("pytest ../x/tests/test_a.py tests/../tests/test_a.py", []),
        # No known runner, or more than one plain command.
        ("python tests/test_a.py", []),
        ("sh t.sh", []),
        ("make -f Makefile tests/test_a.py", []),
        ("pytest tests/test_a.py; true", []),
        ("pytest $(echo tests/test_a.py)", []),
        ("pytest tests/test_*.py", []),
        ("env X=1 pytest tests/test_a.py", []),
    ],
)
def test_only_plain_test_files_of_a_known_runner(
    root: Path, line: str, followed: list[str]
) -> None:
    assert followed_files(str(root), line) == followed
    left = without_followed(str(root), line)
    assert all(name not in left for name in followed)
    assert bool(followed) or left == line

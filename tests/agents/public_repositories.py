"""Repositories that nobody here wrote, fetched from PyPI and npm, each pinned by its hash."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_INFLECTION = "1a29730d366e996aaacffb2f1f1cb9593dc38e2ddd30c91250c6dde09ea9b417"
_LEFT_PAD = "870c0fe1096223a58d4f8832d08a7e651ea2fcadb8e6877b2fdc26b662d481dd"


class Repository(NamedTuple):
    """Where a repository comes from, and what an agent does to it."""

    make: Callable[[Path], None]
    tests: str
    source: str
    breaks: str
    comment: str = "#"


def small(root: Path) -> None:
    """A repository that needs no download."""
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (root / "total.py").write_text("def total(*parts):\n    return sum(parts)\n")
    (root / "test_total.py").write_text(
        "from total import total\n\n\ndef test_total():\n    assert total(1, 2) == 3\n"
    )


def inflection(root: Path) -> None:
    """A package of PyPI whose source has its tests."""
    wanted = root.parent / "wanted.txt"
    wanted.write_text(f"inflection==0.5.1 --hash=sha256:{_INFLECTION}\n")
    words = ("--no-deps", "--no-binary", ":all:", "-r", str(wanted), "-d", str(root.parent))
    _run(root, sys.executable, "-m", "pip", "download", "-q", *words)
    _unpack(root.parent / "inflection-0.5.1.tar.gz", root, _INFLECTION)


def left_pad(root: Path) -> None:
    """A package of npm that has its tests."""
    _run(root.parent, "npm", "pack", "--silent", "left-pad@1.3.0")
    _unpack(root.parent / "left-pad-1.3.0.tgz", root, _LEFT_PAD)
    _run(root, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent")


def _unpack(archive: Path, root: Path, digest: str) -> None:
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == digest
    place = root.parent / "unpacked"
    with tarfile.open(archive) as file:
        file.extractall(place, filter="data")
    (top,) = place.iterdir()
    shutil.copytree(top, root, dirs_exist_ok=True)


def _run(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True, capture_output=True)


FAILS = r"printf '\ndef test_broken():\n    assert False\n' >> "
REPOSITORIES = {
    "small": Repository(small, "test_total.py", "total.py", f"{FAILS}test_total.py"),
    "inflection": Repository(
        inflection,
        "test_inflection.py",
        "inflection/__init__.py",
        f"{FAILS}test_inflection.py",
    ),
    "left-pad": Repository(
        left_pad, "test.js", "index.js", "echo 'process.exit(1)' >> test.js", "//"
    ),
}

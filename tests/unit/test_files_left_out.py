"""Which untracked files stay out of the copy of a task's work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hookline.hooks.builtin.gates.arguments import Secrets
from hookline.hooks.builtin.gates.contents import looks_secret
from hookline.sessions.takeover import MAX_FILE, LeftOut
from tests.e2e.clone_rig import SECRET

if TYPE_CHECKING:
    from pathlib import Path

LINE = f"token = {SECRET}\n"


@pytest.mark.parametrize(
    ("path", "content", "found"),
    [
        ("notes", b"nothing to hide\n", False),
        (".env", LINE.encode(), True),
        ("dump", b"\0\0" + LINE.encode(), True),
        ("page.txt", LINE.encode("utf-16"), True),
        (SECRET, b"", True),
        ("broken", b"\xff\xfe\xff" + LINE.encode(), True),
    ],
)
def test_a_file_that_the_gate_would_reject_is_left_out(
    path: str, content: bytes, found: bool
) -> None:
    assert looks_secret(path, content, Secrets()) is found


def test_what_the_gate_lets_pass_comes_along() -> None:
    assert not looks_secret("fixtures/key", LINE.encode(), Secrets(allow=["fixtures/**"]))
    assert looks_secret("other/key", LINE.encode(), Secrets(allow=["fixtures/**"]))


def test_a_file_that_nobody_touched_is_not_searched_again(tmp_path: Path) -> None:
    search = LeftOut(Secrets())
    path, names = tmp_path / "file", ["file", "gone", "link", "long"]
    path.write_text(LINE)
    (tmp_path / "link").symlink_to("file")
    with (tmp_path / "long").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    for _ in range(2):
        assert search.find(str(tmp_path), names) == ["file", "long"]
    at = path.stat()
    path.write_text("x" * at.st_size)
    os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert search.find(str(tmp_path), names) == ["long"]

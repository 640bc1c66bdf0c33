"""The commit that a ref names, read from git's files where they are plain.

Most questions of a pipeline are of this kind, and a process for each would be most of its cost.
Whatever is not plain, as packed objects or another format of refs, is a question for git itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from typing import TYPE_CHECKING

from hookline.files import read_regular

if TYPE_CHECKING:
    from hookline.adapters.git.checkout import Checkout

_SHARED = ("refs/heads/", "refs/remotes/", "refs/hookline/")
_SYMBOLIC = "ref: "
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MOST = 64 * 1024  # a longer commit is left to git
_LONGEST_NAME = 4096


def plain_commit(at: Checkout, name: str) -> str | None:
    """The commit of HEAD, a branch or a hash; None if only git can tell, or there is none."""
    if name == "HEAD":
        head = _line(os.path.join(at.git_dir, name))
        name = head.removeprefix(_SYMBOLIC)
    if name.startswith(_SHARED) and not {"", ".", ".."}.intersection(name.split("/")):
        name = _line(os.path.join(at.common, name))
    return name if _HASH.fullmatch(name) and _is_commit(at.common, name) else None


def _line(path: str) -> str:
    """The only line of a file; nothing if it is a link, which git reads in a way of its own."""
    try:
        text = "" if os.path.islink(path) else os.fsdecode(read_regular(path, _LONGEST_NAME))
    except OSError:
        return ""
    return text.removesuffix("\n")


def _is_commit(common: str, name: str) -> bool:
    """Whether a file of its own holds this commit, unharmed."""
    path = os.path.join(common, "objects", name[:2], name[2:])
    try:
        content = zlib.decompressobj().decompress(read_regular(path, _MOST), _MOST)
    except (OSError, zlib.error):
        return False
    digest = hashlib.sha1 if len(name) == 40 else hashlib.sha256
    whole = digest(content, usedforsecurity=False).hexdigest() == name
    return whole and content.startswith(b"commit ")

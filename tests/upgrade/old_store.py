"""A project as an older version left it, restored in a folder of this machine.

Paths stand in the journal's records, which have checksums; these are made again by the rule of 0.1.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import tarfile
import time
from contextlib import closing
from hashlib import sha256
from os import urandom
from typing import TYPE_CHECKING, Any

from tests.upgrade.make_store import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.e2e.conftest import Cli

HOUR = 3600


def restore(cli: Cli, kept: Path = ARCHIVE, tasks: Sequence[str] = ("T-1", "T-3", "T-4")) -> None:
    """The repository, the worktrees of tasks, the store, and the user's record of both."""
    texts = {name: text.replace("@ROOT@", str(cli.root)) for name, text in _texts(kept).items()}
    _git(cli.root, "init", "--quiet", "--initial-branch", "main")
    _git(cli.root, "config", "user.name", "ada")
    _git(cli.root, "config", "user.email", "ada@example.org")
    _git(cli.root, "fast-import", "--quiet", given=texts["repository"])
    _git(cli.root, "reset", "--quiet", "--hard", "main")
    for task in tasks:
        place = f".hookline/worktrees/{task}"
        _git(cli.root, "worktree", "add", "--quiet", place, f"hookline/{task}")
    for name, text in texts.items():
        if name.startswith("project/"):
            cli.put(name.removeprefix("project/"), text)
        elif name.startswith("conflict/"):
            _open_conflict(cli.root, name.removeprefix("conflict/"), text)
    lease = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + HOUR))
    with closing(sqlite3.connect(cli.database)) as store:
        # Processes are found by keys with the store's id, so no two may have the same.
        identity = urandom(4).hex()
        dump = texts["store.sql"].replace("@LEASE@", lease).replace("@STORE@", identity)
        store.executescript(dump)
        _seal(store)
        store.commit()
    _remember(cli, "stores", cli.root / ".hookline", "", identity)
    _remember(cli, "trust", cli.root, ".json", texts["grant.json"])


def _texts(kept: Path) -> dict[str, str]:
    with tarfile.open(kept) as archive:
        return {each.name: archive.extractfile(each).read().decode() for each in archive}  # type: ignore[union-attr]


def _git(root: Path, *args: str, given: str = "") -> None:
    subprocess.run(("git", *args), cwd=root, input=given.encode(), check=True, capture_output=True)


def _open_conflict(root: Path, task: str, note: str) -> None:
    """Leave the base in conflict with the files of a task's worktree, and our note of it."""
    merge = ("git", "merge", "--quiet", "--no-commit", "--no-ff", "main")
    at = root / ".hookline" / "worktrees" / task
    assert subprocess.run(merge, cwd=at, capture_output=True).returncode == 1
    (root / ".git" / "worktrees" / task / "hookline-conflict").write_text(note)


def _remember(cli: Cli, kind: str, about: Path, suffix: str, text: str) -> None:
    path = cli.home / kind / f"{_digest_of(str(about.resolve()))}{suffix}"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)


def _seal(store: sqlite3.Connection) -> None:
    """Make the checksums and digests of records again, since their paths are others now."""
    for seq, data in store.execute("SELECT seq, data FROM events").fetchall():
        record: dict[str, Any] = json.loads(data)
        if "checksum" not in record:
            continue
        if "digest" in record:
            record["digest"] = _digest_of(_json([record["kind"], record["args"]]))[:16]
        del record["checksum"]
        record["checksum"] = _digest_of(_json(record))[:16]
        store.execute("UPDATE events SET data = ? WHERE seq = ?", (json.dumps(record), seq))
    for seq, kind, args in store.execute(
        "SELECT requested_seq, kind, args FROM effects"
    ).fetchall():
        digest = _digest_of(_json([kind, json.loads(args)]))[:16]
        store.execute("UPDATE effects SET digest = ? WHERE requested_seq = ?", (digest, seq))


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()

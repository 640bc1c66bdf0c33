"""Trust against real files: what an attacker or an accident does to them between two starts."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from hookline.errors import HooklineError, Untrusted
from hookline.hooks.registry import Hook
from hookline.project import Project
from hookline.trust.book import TrustBook, TrustVerdict
from hookline.trust.cover import covered_uses
from hookline.trust.manifest import Manifest, TrustChange, fingerprint
from hookline.trust.review import review
from hookline.trust.stores import adopt_store, owns_store
from hookline.trust.watch import TrustWatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOOK = ".hookline/hooks/stop/check"
RUN = Hook(name="run", points=("stop",), kind="command", target="./tools/run.sh")


class Repo:
    """A project with a configuration and two hooks, and the book of its user."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "repo"
        self.home = tmp_path / "home"
        self.project = Project(str(self.root), str(self.root / ".hookline"))
        self.book = TrustBook(str(self.home))
        self.put("hookline.yaml", b"version: 1\n")
        self.put(HOOK, b"#!/bin/sh\necho one\n").chmod(0o755)
        self.put("tools/run.sh", b"echo run\n")

    def put(self, name: str, content: bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def manifest(self) -> Manifest:
        return fingerprint(self.project, covered_uses(self.project, [RUN]))

    def verdict(self) -> TrustVerdict:
        return self.book.verdict(self.project, self.manifest(), {})

    def watch(self) -> TrustWatch:
        return TrustWatch(self.project, self.manifest(), [RUN])

    def record(self) -> Path:
        (found,) = (self.home / "trust").glob("*.json")
        return found


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path)


def edit(repo: Repo) -> None:
    repo.put(HOOK, b"#!/bin/sh\necho two\n")


def edit_and_hide_the_time(repo: Repo) -> None:
    path = repo.root / HOOK
    before = path.stat()
    edit(repo)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def drop_the_run_bit(repo: Repo) -> None:
    (repo.root / HOOK).chmod(0o644)


def set_a_run_bit(repo: Repo) -> None:
    (repo.root / "tools/run.sh").chmod(0o755)


def remove(repo: Repo) -> None:
    (repo.root / HOOK).unlink()


def replace_by_link_to_other_text(repo: Repo) -> None:
    other = repo.put("other", b"echo evil\n")
    (repo.root / HOOK).unlink()
    (repo.root / HOOK).symlink_to(other)


def replace_by_link_to_same_text(repo: Repo) -> None:
    path = repo.root / HOOK
    path.rename(repo.root / "moved")
    path.symlink_to(repo.root / "moved")


def replace_by_folder(repo: Repo) -> None:
    (repo.root / HOOK).unlink()
    (repo.root / HOOK).mkdir()


def replace_by_pipe(repo: Repo) -> None:
    (repo.root / HOOK).unlink()
    os.mkfifo(repo.root / HOOK)


def edit_the_named_file(repo: Repo) -> None:
    repo.put("tools/run.sh", b"echo bad\n")


def add_a_hook(repo: Repo) -> None:
    repo.put(".hookline/hooks/stop/added", b"echo new\n")


def add_a_hidden_file(repo: Repo) -> None:
    repo.put(".hookline/hooks/.hidden", b"")


def add_a_flow(repo: Repo) -> None:
    repo.put(".hookline/flows/ship.yaml", b"steps: []\n")


def add_a_dangling_link(repo: Repo) -> None:
    (repo.root / ".hookline/hooks/stop/later").symlink_to("nowhere")


THREATS: list[Callable[[Repo], None]] = [
    edit,
    edit_and_hide_the_time,
    drop_the_run_bit,
    set_a_run_bit,
    remove,
    replace_by_link_to_other_text,
    replace_by_link_to_same_text,
    replace_by_folder,
    replace_by_pipe,
    edit_the_named_file,
    add_a_hook,
    add_a_hidden_file,
    add_a_flow,
    add_a_dangling_link,
]
every_threat = pytest.mark.parametrize("threat", THREATS, ids=lambda each: each.__name__)


@every_threat
def test_a_changed_repository_is_no_longer_trusted(
    repo: Repo, threat: Callable[[Repo], None]
) -> None:
    repo.book.grant(repo.project, repo.manifest())
    assert repo.verdict().trusted
    threat(repo)
    verdict = repo.verdict()
    assert not verdict.trusted
    assert len(verdict.changes) == 1


@every_threat
def test_the_watch_stops_the_next_start(repo: Repo, threat: Callable[[Repo], None]) -> None:
    watch = repo.watch()
    watch.verify()
    watch.verify()
    threat(repo)
    with pytest.raises(Untrusted, match=r"(changed|appeared) since it was verified"):
        watch.verify()


def age(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the files count as old at once; a test cannot wait, and ctime cannot be set."""
    monkeypatch.setattr("hookline.trust.manifest._SETTLED_NS", -(10**18))


@every_threat
def test_the_watch_sees_through_an_old_stamp(
    repo: Repo, threat: Callable[[Repo], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    age(repo, monkeypatch)
    manifest = repo.manifest()
    assert all(entry.stamp for entry in manifest.entries)
    watch = TrustWatch(repo.project, manifest, [RUN])
    watch.verify()
    wait_for_the_clock_of_the_file_system(repo)
    threat(repo)
    with pytest.raises(Untrusted, match=r"(changed|appeared) since it was verified"):
        watch.verify()


def wait_for_the_clock_of_the_file_system(repo: Repo) -> None:
    """Return once a new write gets a later time than every file so far."""
    latest = max(path.lstat().st_ctime_ns for path in repo.root.rglob("*"))
    probe = repo.root / "probe"
    while True:
        probe.write_bytes(b"")
        if probe.stat().st_ctime_ns > latest:
            break
    probe.unlink()


def test_the_stamp_of_a_fresh_file_is_not_relied_on(repo: Repo) -> None:
    assert [entry.stamp for entry in repo.manifest().entries] == [(), (), ()]


def test_the_watch_allows_a_touch(repo: Repo) -> None:
    watch = repo.watch()
    os.utime(repo.root / HOOK)
    content = (repo.root / "tools/run.sh").read_bytes()
    (repo.root / "tools/run.sh").unlink()
    repo.put("tools/run.sh", content)
    watch.verify()


def test_the_watch_names_the_file(repo: Repo) -> None:
    watch = repo.watch()
    repo.put(".hookline/hooks/a\nb", b"")
    with pytest.raises(Untrusted, match=r"'\.hookline/hooks/a\\nb' appeared") as caught:
        watch.verify()
    assert "hookline trust" in (caught.value.help or "")


def test_the_watch_sees_a_package_put_before_a_module(repo: Repo) -> None:
    repo.put("mine.py", b"")
    hook = Hook(name="p", points=("stop",), kind="python", target="mine:check")
    manifest = fingerprint(repo.project, covered_uses(repo.project, [hook]))
    watch = TrustWatch(repo.project, manifest, [hook])
    watch.verify()
    repo.put("mine/__init__.py", b"evil")
    with pytest.raises(Untrusted, match=r"mine/__init__\.py appeared"):
        watch.verify()


def test_a_link_out_of_the_project_is_covered_by_its_content(repo: Repo, tmp_path: Path) -> None:
    outside = tmp_path / "outside.sh"
    outside.write_text("echo one\n")
    (repo.root / "tools/run.sh").unlink()
    (repo.root / "tools/run.sh").symlink_to(outside)
    repo.book.grant(repo.project, repo.manifest())
    watch = repo.watch()
    outside.write_text("echo two\n")
    assert repo.verdict().changes == [TrustChange("tools/run.sh", "changed")]
    with pytest.raises(Untrusted, match=r"tools/run\.sh changed"):
        watch.verify()


def test_a_linked_folder_is_covered_by_its_files(repo: Repo, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("one")
    (repo.root / ".hookline/hooks/submit").symlink_to(elsewhere)
    files = repo.manifest().files
    assert files[".hookline/hooks/submit"] == f"folder:link={elsewhere}"
    assert files[".hookline/hooks/submit/x"] == hashlib.sha256(b"one").hexdigest()


def test_links_in_a_circle_come_to_an_end(repo: Repo) -> None:
    hooks = repo.root / ".hookline/hooks"
    (hooks / "up").symlink_to("..", target_is_directory=True)
    (hooks / "self").symlink_to("self")
    (hooks / "here").symlink_to(".")
    before = repo.manifest()
    assert before.hash == repo.manifest().hash
    assert before.files[".hookline/hooks/self"] == "unreadable:link=self"


def test_a_link_to_the_whole_disk_is_refused(repo: Repo) -> None:
    (repo.root / ".hookline/hooks/all").symlink_to("/usr")
    with pytest.raises(Untrusted, match="too many to be verified"):
        repo.manifest()


def test_special_files_are_not_opened(repo: Repo) -> None:
    hooks = repo.root / ".hookline/hooks"
    (hooks / "zero").symlink_to("/dev/zero")
    os.mkfifo(hooks / "pipe")
    files = repo.manifest().files
    assert files[".hookline/hooks/zero"] == "special:link=/dev/zero"
    assert files[".hookline/hooks/pipe"] == "special"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_an_unreadable_file_counts_as_such(repo: Repo) -> None:
    (repo.root / ".hookline/hooks/mem").symlink_to("/proc/self/mem")
    assert repo.manifest().files[".hookline/hooks/mem"] == "unreadable:link=/proc/self/mem"


def test_a_large_file_is_hashed_in_pieces(repo: Repo) -> None:
    size = 17 << 20
    with open(repo.root / HOOK, "wb") as file:
        file.truncate(size)
    assert repo.manifest().files[HOOK] == hashlib.sha256(bytes(size)).hexdigest() + ":x"


def test_a_file_too_large_to_verify_is_refused(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.trust.manifest.MAX_FILE", 1 << 20)
    repo.put(HOOK, bytes((1 << 20) + 1))
    with pytest.raises(Untrusted, match="too large to be verified"):
        repo.manifest()


def test_odd_names_are_kept_apart_and_recorded(repo: Repo) -> None:
    hooks = os.fsencode(repo.root / ".hookline/hooks")
    for name in (b"a\nb", b"\xff\xfe", b"\\xff\\xfe", "ü".encode(), b"a b"):
        with open(os.path.join(hooks, name), "wb") as file:
            file.write(name)
    manifest = repo.manifest()
    assert len(manifest.files) == 3 + 5
    repo.book.grant(repo.project, manifest)
    assert repo.verdict().trusted
    with open(os.path.join(hooks, b"\xff\xfe"), "wb") as file:
        file.write(b"evil")
    assert repo.verdict().changes == [TrustChange(".hookline/hooks/\\xff\\xfe", "changed")]
    text = review(repo.book, repo.project, repo.manifest())
    assert "changed: .hookline/hooks/\\xff\\xfe\n" in text


def test_a_moved_project_is_a_stranger(repo: Repo, tmp_path: Path) -> None:
    repo.book.grant(repo.project, repo.manifest())
    moved = tmp_path / "moved"
    shutil.copytree(repo.root, moved)
    project = Project(str(moved), str(moved / ".hookline"))
    manifest = fingerprint(project, covered_uses(project, [RUN]))
    assert manifest.hash == repo.manifest().hash
    verdict = repo.book.verdict(project, manifest, {})
    assert not verdict.trusted
    assert "have not trusted it yet" in verdict.why


def test_another_project_at_the_same_path_is_a_stranger(repo: Repo) -> None:
    repo.book.grant(repo.project, repo.manifest())
    shutil.rmtree(repo.root)
    repo.put("hookline.yaml", b"version: 1 # other\n")
    assert not repo.verdict().trusted


def test_a_project_reached_through_a_link_is_the_same(repo: Repo, tmp_path: Path) -> None:
    repo.book.grant(repo.project, repo.manifest())
    link = tmp_path / "link"
    link.symlink_to(repo.root)
    project = Project(str(link), str(link / ".hookline"))
    manifest = fingerprint(project, covered_uses(project, [RUN]))
    assert repo.book.verdict(project, manifest, {}).trusted


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"root": 1}',
        b"\xff\xfe",
        b'{"hash": "x", "files": {}}',
        b'{"root": "", "hash": "", "files": {"\\ud800": ""}, "grantedAt": ""}',
    ],
)
def test_a_damaged_record_is_no_trust(repo: Repo, content: bytes) -> None:
    repo.book.grant(repo.project, repo.manifest(), always=True)
    repo.record().write_bytes(content)
    verdict = repo.verdict()
    assert not verdict.trusted
    assert "is damaged" in verdict.why
    assert {change.kind for change in verdict.changes} == {"added"}
    repo.book.grant(repo.project, repo.manifest())
    assert repo.verdict().trusted


def test_a_forged_hash_is_no_trust(repo: Repo) -> None:
    repo.book.grant(repo.project, repo.manifest())
    edit(repo)
    record = msgspec.json.decode(repo.record().read_bytes())
    record["hash"] = repo.manifest().hash
    repo.record().write_bytes(msgspec.json.encode(record))
    verdict = repo.verdict()
    assert not verdict.trusted
    assert "its hash does not match its files" in verdict.why


def test_a_record_of_another_folder_is_no_trust(repo: Repo, tmp_path: Path) -> None:
    repo.book.grant(repo.project, repo.manifest())
    record = msgspec.json.decode(repo.record().read_bytes())
    record["root"] = str(tmp_path)
    repo.record().write_bytes(msgspec.json.encode(record))
    assert "written for another folder" in repo.verdict().why


def test_a_record_that_others_can_write_is_no_trust(repo: Repo) -> None:
    repo.book.grant(repo.project, repo.manifest())
    repo.record().chmod(0o622)
    verdict = repo.verdict()
    assert not verdict.trusted
    assert "can be written by other users" in verdict.why


def test_a_record_that_is_no_file_is_no_trust(repo: Repo) -> None:
    repo.book.grant(repo.project, repo.manifest())
    record = repo.record()
    record.unlink()
    record.mkdir()
    assert "cannot read" in repo.verdict().why
    with pytest.raises(HooklineError, match="cannot write"):
        repo.book.revoke(repo.project)
    with pytest.raises(HooklineError, match="cannot write"):
        repo.book.grant(repo.project, repo.manifest())
    assert not list((repo.home / "trust").glob("*.tmp"))


def test_a_record_cannot_point_out_of_the_copies(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret")
    repo.book.grant(repo.project, repo.manifest())
    for digest in ("../../../secret", "../" * 21 + "x", str(tmp_path / "secret"), "z" * 64):
        assert repo.book.copy_of(digest) is None


def test_everything_written_is_private(repo: Repo) -> None:
    before = os.umask(0)
    try:
        repo.book.grant(repo.project, repo.manifest())
        adopt_store(str(repo.home), repo.project, "id")
    finally:
        os.umask(before)
    paths = list(repo.home.rglob("*"))
    assert len([path for path in paths if path.is_file()]) == 1 + 3 + 1
    for path in paths:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted


def test_a_folder_that_cannot_be_made_is_said(repo: Repo) -> None:
    repo.home.write_text("in the way")
    with pytest.raises(HooklineError, match="cannot write") as caught:
        repo.book.grant(repo.project, repo.manifest())
    assert "HOOKLINE_HOME" in (caught.value.help or "")


def test_the_diff_shows_what_changed(repo: Repo) -> None:
    repo.put(".hookline/hooks/stop/old", b"gone\n")
    repo.book.grant(repo.project, repo.manifest())
    edit(repo)
    (repo.root / HOOK).chmod(0o644)
    (repo.root / ".hookline/hooks/stop/old").unlink()
    repo.put(".hookline/hooks/stop/binary", b"\0\1")
    repo.put(".hookline/hooks/stop/new", b"  fresh")
    assert review(repo.book, repo.project, repo.manifest()).split("\n") == [
        "added: .hookline/hooks/stop/binary",
        "no text to compare: too large, not readable, or not text",
        f"changed: {HOOK}",
        "it was: executable file; it is: plain file",
        f"--- {HOOK} (trusted)",
        f"+++ {HOOK} (now)",
        "@@ -1,2 +1,2 @@",
        " #!/bin/sh",
        "-echo one",
        "+echo two",
        "added: .hookline/hooks/stop/new",
        "+++ .hookline/hooks/stop/new",
        "+  fresh",
        "+\\ No newline at end of file",
        "removed: .hookline/hooks/stop/old",
        "--- .hookline/hooks/stop/old",
        "-gone",
    ]


def test_the_diff_of_a_retargeted_link_names_both_targets(repo: Repo) -> None:
    repo.put("a", b"same")
    repo.put("b", b"same")
    link = repo.root / ".hookline/hooks/stop/link"
    link.symlink_to("../../../a")
    repo.book.grant(repo.project, repo.manifest())
    link.unlink()
    link.symlink_to("../../../b")
    assert review(repo.book, repo.project, repo.manifest()).split("\n") == [
        "changed: .hookline/hooks/stop/link",
        "it was: plain file through a link to ../../../a; "
        "it is: plain file through a link to ../../../b",
    ]


def test_a_text_swapped_while_it_is_shown_is_refused(repo: Repo) -> None:
    repo.book.grant(repo.project, repo.manifest())
    edit(repo)
    manifest = repo.manifest()
    repo.put(HOOK, b"#!/bin/sh\necho harmless\n")
    with pytest.raises(Untrusted, match="changed while it was read"):
        review(repo.book, repo.project, manifest)
    with pytest.raises(Untrusted, match="changed while it was read"):
        repo.book.grant(repo.project, manifest)


def test_a_damaged_copy_is_not_shown_as_trusted_text(repo: Repo) -> None:
    repo.book.grant(repo.project, repo.manifest())
    copy = repo.book.copy_of(repo.manifest().files[HOOK])
    assert copy is not None
    with open(copy, "w", encoding="utf-8") as file:
        file.write("forged")
    edit(repo)
    text = review(repo.book, repo.project, repo.manifest())
    assert "forged" not in text
    assert "no text to compare" in text


def test_large_texts_are_trusted_without_a_copy(repo: Repo) -> None:
    repo.put(HOOK, b"x" * ((256 << 10) + 1))
    repo.book.grant(repo.project, repo.manifest())
    assert repo.verdict().trusted
    assert repo.book.copy_of(repo.manifest().files[HOOK]) is None


def test_a_very_long_text_is_shown_without_comparing(repo: Repo) -> None:
    repo.put(HOOK, b"a\n" * 100_000)
    repo.book.grant(repo.project, repo.manifest())
    repo.put(HOOK, b"b\n" * 100_000)
    lines = review(repo.book, repo.project, repo.manifest()).split("\n")
    assert lines.count("-a") == 100_000
    assert lines.count("+b") == 100_000


def test_a_copied_store_is_not_owned(repo: Repo, tmp_path: Path) -> None:
    home = str(repo.home)
    adopt_store(home, repo.project, "store-1")
    clone = Project(str(tmp_path / "clone"), str(tmp_path / "clone" / ".hookline"))
    assert owns_store(home, repo.project, "store-1")
    assert not owns_store(home, clone, "store-1")
    (record,) = (repo.home / "stores").iterdir()
    record.chmod(0o666)
    assert not owns_store(home, repo.project, "store-1")

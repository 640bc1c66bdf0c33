"""The forge that needs no server: pull requests as files in the project's own folder.

`<n>.json` is the record, `<n>.md` the same for people. Git merges; this forge writes it down. If
several machines share the store, the records are there, and only the pages are files.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from hookline import typed
from hookline.adapters.processes.file_lock import acquire
from hookline.digest import sha256
from hookline.domain.text import forge_texts as texts
from hookline.domain.timestamps import iso
from hookline.domain.work.forge import (
    CheckState,
    ForgeError,
    ForgeMissing,
    ForgeTemporary,
    MergeMethod,
    MergeOutcome,
    MergePlan,
    PullRequest,
    PullState,
    Remark,
    Review,
)
from hookline.files import own_folder, publish
from hookline.project import recorded_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from hookline.domain.work.repository import SetupProblem
    from hookline.ports.work import ForgeSite, SharedPulls

MERGES = False
CHECKS = False
REVIEWS = False
REMOTE = None
LOCK_PATIENCE = 10.0
LOCK_POLL = 0.02
MAX_RECORD = 8 * 1024 * 1024
MAX_NUMBER = 999_999_999
_SHOWN = ("number", "branch", "base", "title", "body", "state", "merged_sha")
_RECORD = re.compile(r"([1-9]\d{0,8})\.json")


async def open_forge(site: ForgeSite) -> LocalForge:
    """The forge of a project, in its own folder."""
    folder = os.path.join(site.folder, "pulls")
    return LocalForge(folder, push_remote=site.remote, shared=site.pulls)


class PullComment(msgspec.Struct, rename="camel", frozen=True):
    """Something said about a pull request."""

    key: str
    text: str
    at: str


class Record(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A pull request as it is kept."""

    number: int
    branch: str
    base: str
    title: str
    body: str
    opened_at: str
    state: PullState = "open"
    merged_sha: str | None = None
    merged_at: str | None = None
    method: MergeMethod | None = None
    comments: tuple[PullComment, ...] = ()


class LocalForge:
    """Pull requests of a project without a server; safe for many processes at once."""

    name = "local"
    merges = MERGES
    has_checks, has_reviews = CHECKS, REVIEWS

    def __init__(
        self, folder: str, *, push_remote: str | None = None, shared: SharedPulls | None = None
    ) -> None:
        self._folder = folder
        self.push_remote = push_remote
        self._shared = shared

    async def find_pull_request(self, branch: str, base: str) -> PullRequest | None:
        found = self._find(branch, base)
        return self._shown(found) if found else None

    async def pull_request(self, number: int) -> PullRequest:
        return self._shown(self._read(number))

    async def open_pull_request(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        async with self._locked():
            record = self._find(branch, base) or Record(
                number=self._next_number(),
                branch=branch,
                base=base,
                title=texts.title(title),
                body=texts.body(body),
                opened_at=iso(time.time()),
            )
            # An old record is written too: a crash may have come between its two files.
            return self._write(record)

    async def update_pull_request(
        self, number: int, *, title: str | None = None, body: str | None = None
    ) -> PullRequest:
        given = (("title", title, texts.title), ("body", body, texts.body))
        changes = {name: clean(text) for name, text, clean in given if text is not None}
        async with self._locked():
            return self._write(msgspec.structs.replace(self._read(number), **changes))

    async def checks(self, of: PullRequest | str, *, base: str | None = None) -> CheckState:
        """Nothing checks commits here; gates do."""
        return CheckState("none")

    async def reviews(self, pull_request: PullRequest) -> list[Review]:
        """People say here what they think of work with `hookline gate approve` and `reject`."""
        return []

    async def merge(
        self,
        pull_request: PullRequest,
        sha: str,
        method: MergeMethod,
        message: str = "",
        *,
        check: Callable[[], Awaitable[None]] | None = None,
    ) -> MergeOutcome:
        """Record that git merged, and by which commit; the first one stays."""
        async with self._locked():
            record = self._read(pull_request.number)
            if record.merged_sha is not None:
                return MergeOutcome(record.merged_sha, already=True)
            by = {"merged_sha": sha, "merged_at": iso(time.time()), "method": method}
            self._write(msgspec.structs.replace(record, state="merged", **by))
            return MergeOutcome(sha)

    async def problems(self, plan: MergePlan) -> list[SetupProblem]:
        """Nothing here forbids anything."""
        return []

    async def comment(
        self,
        pull_request: PullRequest,
        text: str,
        *,
        key: str | None = None,
        head: str | None = None,
        remarks: Sequence[Remark] = (),
    ) -> None:
        text = texts.body(texts.with_remarks(text, remarks))
        key = key or str(sha256(text.encode()).hexdigest())
        async with self._locked():
            record = self._read(pull_request.number)
            if any(comment.key == key for comment in record.comments):
                return
            added = PullComment(key, text, iso(time.time()))
            self._write(msgspec.structs.replace(record, comments=(*record.comments, added)))

    def _find(self, branch: str, base: str) -> Record | None:
        if self._shared is not None:
            data = self._shared.open_of(branch, base)
            return None if data is None else _record(data, f"a pull request of {branch}")
        for number in sorted(self._numbers(), reverse=True):
            record = self._read(number)
            if (record.branch, record.base, record.state) == (branch, base, "open"):
                return record
        return None

    def _numbers(self) -> list[int]:
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise ForgeError(f"the pull requests cannot be read: {problem}") from problem
        return [int(found[1]) for found in map(_RECORD.fullmatch, names) if found]

    def _next_number(self) -> int:
        last = max(self._numbers(), default=0)
        if self._shared is not None:
            last = max(last, self._shared.last())
        number = last + 1
        if number > MAX_NUMBER:
            raise ForgeError(f"{self._folder} has no number left for another pull request")
        return number

    def _read(self, number: int) -> Record:
        path = self._path(number, "json")
        # There may be a file of before the store was moved.
        data = (self._shared and self._shared.read(number)) or self._read_file(number, path)
        if data is None:
            raise ForgeMissing(f"there is no pull request {number}")
        record = _record(data, path)
        if record.number != number:
            raise _damaged(path, f"it says that it is pull request {record.number}")
        return record

    def _read_file(self, number: int, path: str) -> bytes | None:
        try:
            with _opened(path) as file:
                return file.read(MAX_RECORD + 1)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise ForgeError(f"pull request {number} cannot be read: {problem}") from problem

    def _write(self, record: Record) -> PullRequest:
        data = msgspec.json.format(msgspec.json.encode(record), indent=2)
        if len(data) > MAX_RECORD:
            raise ForgeError(f"pull request {record.number} is full: it has too many comments")
        if self._shared is not None:
            is_open = record.state == "open"
            self._shared.write(record.number, record.branch, record.base, is_open, data)
        else:
            self._publish(record, "json", data)
            self._publish(record, "md", _page(record).encode())
        return self._shown(record)

    def _publish(self, record: Record, ending: str, data: bytes) -> None:
        try:
            with own_folder(*os.path.split(self._folder)) as folder:
                publish(folder, f"{record.number:d}.{ending}", data, durable=True)
        except OSError as problem:
            path = self._path(record.number, "json")
            raise ForgeError(f"{path} cannot be written: {problem}") from problem

    def _shown(self, record: Record) -> PullRequest:
        page = os.path.abspath(self._path(record.number, "md"))
        url = Path(page).as_uri()
        if self._shared is not None:  # the page is in each clone that has to do with it
            self._publish(record, "md", _page(record).encode())
            url = recorded_path(os.path.dirname(os.path.dirname(os.path.dirname(page))), page)
        return PullRequest(url=url, **{name: getattr(record, name) for name in _SHOWN})

    def _path(self, number: int, ending: str) -> str:
        return os.path.join(self._folder, f"{number:d}.{ending}")

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Alone among all processes; the kernel takes the lock from one that dies."""
        if self._shared is not None:
            with self._shared.alone():
                yield
            return
        with _lock_file(self._folder) as lock:
            if not await acquire(lock, LOCK_PATIENCE, LOCK_POLL):
                words = f"another process kept {self._folder} locked for too long"
                raise ForgeTemporary(words)
            yield


@contextmanager
def _lock_file(folder: str) -> Iterator[int]:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with own_folder(*os.path.split(folder)) as place:
            lock = os.open("lock", flags, 0o600, dir_fd=place)
    except OSError as problem:
        raise ForgeError(f"cannot keep pull requests in {folder}: {problem}") from problem
    try:
        yield lock
    finally:
        os.close(lock)


def _opened(path: str) -> BinaryIO:
    # A repository may bring such files: no link leads elsewhere, no pipe keeps us waiting.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    return os.fdopen(os.open(path, flags), "rb")


def _record(data: bytes, path: str) -> Record:
    try:
        return typed.decode(data, Record)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise _damaged(path, str(problem)) from problem


def _damaged(path: str, why: str) -> ForgeError:
    help = "fix it, or move it out of its folder"
    return ForgeError(f"{path} is damaged: {why[:300]}", help=help)


def _page(record: Record) -> str:
    """A pull request as a person reads it."""
    lines = [
        f"# {record.title} (pull request {record.number})",
        "",
        f"- state: {record.state}",
        f"- branch: `{record.branch}` into `{record.base}`",
        f"- opened: {record.opened_at}",
    ]
    if record.merged_sha is not None:
        lines.append(f"- merged: {record.merged_at} as {record.merged_sha} ({record.method})")
    lines += ["", record.body]
    for comment in record.comments:
        lines += ["", f"## Comment, {comment.at}", "", comment.text]
    return "\n".join(lines).rstrip() + "\n"

"""Trailers for commits that are there already: the same content and authors, other messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.repository_changes import lock_of
from hookline.adapters.repository_step import Stepping
from hookline.domain.repository import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Headers that only count for the commit as it was.
_SIGNATURES = (b"gpgsig ", b"gpgsig-sha256 ")


class Signing(Stepping):
    """Says in each commit of a task's work whose it is."""

    async def add_trailers(
        self, folder: str, base: str, trailers: Sequence[str], *, branch: str, head: str
    ) -> str:
        """Give every commit up to `head` that the base has not these trailers; the new head.

        If the branch is not at `head` any more, it stays where it is.
        """
        top = self._at(folder).top
        onto = (await self._known_base(base)).sha
        async with self._exclusive(lock_of(top)):
            await self._own(top, branch)
            signed = await self._signed(top, onto, head, trailers)
            if signed != head:
                # The content is the same, so that nothing else in the checkout changes.
                await self._git(
                    top,
                    *("update-ref", "-m", "hookline: trailers", f"refs/heads/{branch}"),
                    *(signed, head),
                    doing="the commits got no trailers",
                )
            return signed

    async def _signed(self, top: str, base: str, head: str, trailers: Sequence[str]) -> str:
        """The last of the commits since the base, each with these trailers."""
        asked = ("rev-list", "--reverse", "--topo-order", f"{base}..{head}")
        listed = await self._git(top, *asked, doing="the commits cannot be listed")
        made: dict[bytes, bytes] = {}
        for sha in listed.out.split():
            made[sha] = await self._copy(top, sha, made, trailers)
        return made.get(head.encode(), head.encode()).decode()

    async def _copy(
        self, top: str, sha: bytes, made: dict[bytes, bytes], trailers: Sequence[str]
    ) -> bytes:
        said = await self._git(
            top, "cat-file", "commit", sha.decode(), doing="a commit cannot be read"
        )
        headers, _, message = said.out.partition(b"\n\n")
        if said.left_out:
            raise RepositoryError(f"the message of {sha.decode()} is too long to get trailers")
        told = await self._with_trailers(top, message, trailers)
        kept = [_parent(line, made) for line in _without_signatures(headers)]
        if told == message and kept == headers.split(b"\n"):
            return sha
        content = b"\n".join(kept) + b"\n\n" + told
        asked = ("hash-object", "-t", "commit", "-w", "--stdin")
        return (
            await self._git(top, *asked, stdin=content, doing="a commit got no trailers")
        ).out.strip()

    async def _with_trailers(self, top: str, message: bytes, trailers: Sequence[str]) -> bytes:
        asked = [word for each in trailers for word in ("--trailer", each)]
        said = await self._git(
            top,
            *("interpret-trailers", "--if-exists=addIfDifferent", *asked),
            stdin=message,
            doing="a commit got no trailers",
        )
        return said.out


def _without_signatures(headers: bytes) -> list[bytes]:
    kept: list[bytes] = []
    is_dropped = False
    for line in headers.split(b"\n"):
        is_dropped = line.startswith(_SIGNATURES) or (is_dropped and line.startswith(b" "))
        if not is_dropped:
            kept.append(line)
    return kept


def _parent(line: bytes, made: dict[bytes, bytes]) -> bytes:
    name, _, sha = line.partition(b" ")
    return b"parent " + made.get(sha, sha) if name == b"parent" else line

"""What changed since it was trusted, for the person who decides: files as text, and defaults."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

from hookline.config.checks.changed_defaults import ChangedDefault, changed_defaults
from hookline.errors import Untrusted
from hookline.trust.book import TrustBook
from hookline.trust.manifest import MAX_COPY, compare, content_of, read_exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hookline.config.settings import Settings
    from hookline.project import Project
    from hookline.trust.manifest import CoveredFile, Manifest, TrustChange


# Beyond this, comparing line by line can take minutes.
MAX_LINES = 4000


def review(
    book: TrustBook, project: Project, manifest: Manifest, only: Collection[str] | None = None
) -> str:
    """What changed since the last grant, one section per changed file; `only` some are compared.

    The text shown is the text hashed, else Untrusted.
    """
    try:
        grant = book.granted(project)
    except Untrusted:
        grant = None
    old = grant.files if grant else {}
    if only is not None:
        old = {name: digest for name, digest in old.items() if name in only}
    entries = {entry.name: entry for entry in manifest.entries}
    sections = [
        "\n".join(_section(change, old.get(change.path), entries.get(change.path), book.copy_of))
        for change in compare(old, manifest.files)
    ]
    return "\n".join(sections)


def _section(
    change: TrustChange,
    old: str | None,
    entry: CoveredFile | None,
    copy_of: Callable[[str], str | None],
) -> list[str]:
    name = change.path if change.path.isprintable() else ascii(change.path)
    lines = [f"{change.kind}: {name}"]
    if old and entry and _attributes(old) != _attributes(entry.digest):
        lines.append(f"it was: {_attributes(old)}; it is: {_attributes(entry.digest)}")
    elif entry and not old and _attributes(entry.digest) != "plain file":
        lines.append(f"it is: {_attributes(entry.digest)}")
    if old and entry and content_of(old) and content_of(old) == entry.content:
        return lines
    before = _trusted_text(old, copy_of)
    after = _text_now(entry)
    if before is None or after is None:
        return [*lines, "no text to compare: too large, not readable, or not text"]
    return lines + _difference(name, before, after)


def _difference(name: str, before: list[str], after: list[str]) -> list[str]:
    if not before:
        return [f"+++ {name}", *(f"+{line}" for line in after)]
    if not after:
        return [f"--- {name}", *(f"-{line}" for line in before)]
    if max(len(before), len(after)) > MAX_LINES:
        return [f"--- {name}", *(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    return list(unified_diff(before, after, f"{name} (trusted)", f"{name} (now)", lineterm=""))


def _trusted_text(digest: str | None, copy_of: Callable[[str], str | None]) -> list[str] | None:
    if digest is None:
        return []
    content, copy = content_of(digest), copy_of(digest)
    if content is None or copy is None:
        return None
    try:
        return _lines(read_exactly(copy, content))
    except Untrusted:
        return None  # a damaged copy proves nothing


def _text_now(entry: CoveredFile | None) -> list[str] | None:
    if entry is None:
        return []
    if entry.content is None or entry.size > MAX_COPY:
        return None
    return _lines(read_exactly(entry.path, entry.content))


# After a last line that does not end; else it would look like one that does.
UNENDED = "\\ No newline at end of file"


def _lines(data: bytes) -> list[str] | None:
    if b"\0" in data:
        return None
    *lines, rest = data.decode("utf-8", "backslashreplace").split("\n")
    return [*lines, rest, UNENDED] if rest else lines


def _attributes(digest: str) -> str:
    head, link, target = digest.partition(":link=")
    kind, run, _ = head.partition(":")
    if content_of(kind):
        kind = "executable file" if run else "plain file"
    shown = target if target.isprintable() else ascii(target)
    return f"{kind} through a link to {shown}" if link else kind


def changed_since_trusted(project: Project, home: str, settings: Settings) -> list[ChangedDefault]:
    """Those that touch the project; none where nothing was trusted, or it has to be again."""
    try:
        grant = TrustBook(home).granted(project)
    except Untrusted:
        return []
    return [] if grant is None else changed_defaults(settings, grant.version)

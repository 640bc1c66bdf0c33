"""Trusting a repository: what would be trusted, and the grant, which adopts a foreign store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.config import load_settings
from hookline.operations.setup.first_base import keep_base
from hookline.project import user_name
from hookline.trust.book import TrustBook
from hookline.trust.configured import configured_uses
from hookline.trust.manifest import fingerprint
from hookline.trust.review import changed_since_trusted
from hookline.trust.stores import owns_store
from hookline.trust.stores import recorded as recorded_store
from hookline.wiring.project.stores import adopt, store_identity, unfinished_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.config.checks.changed_defaults import ChangedDefault
    from hookline.project import Project
    from hookline.trust.adoption import Adopted
    from hookline.trust.book import TrustVerdict
    from hookline.trust.manifest import Manifest


class TrustCase(NamedTuple):
    """All that is looked at before anyone decides.

    `recorded` is the verdict without HOOKLINE_TRUST, which does not make a grant needless.
    """

    project: Project
    home: str
    book: TrustBook
    uses: dict[str, str]
    manifest: Manifest
    verdict: TrustVerdict
    recorded: TrustVerdict
    store_id: str | None
    changed: list[ChangedDefault]

    @property
    def foreign_store(self) -> bool:
        """Whether there is a store that this user neither created nor adopted."""
        return self.store_id is not None and not owns_store(self.home, self.project, self.store_id)

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to grant."""
        return self.recorded.trusted and not (self.foreign_store or self.changed)

    def cancelled_runs(self) -> list[str]:
        """The runs of a foreign store that a grant would cancel."""
        return unfinished_runs(self.project) if self.foreign_store else []


class Granted(NamedTuple):
    """A project after a grant; `adopted` is what became of a foreign store."""

    case: TrustCase
    adopted: Adopted | None


def look(project: Project, home: str, environ: Mapping[str, str]) -> TrustCase:
    """What a repository brings, and whether it is trusted; nothing is changed."""
    settings = load_settings(project, home)
    uses = configured_uses(project, settings)
    manifest = fingerprint(project, uses)
    changed = changed_since_trusted(project, home, settings)
    book = TrustBook(home)
    verdict = book.verdict(project, manifest, environ)
    recorded = book.verdict(project, manifest, {})
    known = recorded_store(home, project)
    is_here = not (settings.stores or (known is not None and known.url))
    store_id = store_identity(project) if is_here else None
    return TrustCase(project, home, book, uses, manifest, verdict, recorded, store_id, changed)


def grant(case: TrustCase, environ: Mapping[str, str], *, always: bool) -> Granted:
    """Trust exactly what was looked at, and adopt a store that someone else made."""
    adopted = None
    if case.store_id is not None and case.foreign_store:
        # What a store would do by itself was not among the files that its user looked at.
        by = {"triggeredBy": user_name(environ)}
        adopted = adopt(case.project, case.home, case.store_id, by)
    case.book.grant(case.project, case.manifest, always=always)
    if case.store_id is not None:
        keep_base()
    verdict = case.book.verdict(case.project, case.manifest, {})
    return Granted(case._replace(verdict=verdict), adopted)

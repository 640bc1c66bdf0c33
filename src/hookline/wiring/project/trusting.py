"""What is compared with the user's trust while a command runs, for one project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errors import Untrusted
from hookline.hooks.builtin import notifies
from hookline.project import CONFIG_NAME, user_folder
from hookline.trust.manifest import MISSING, Manifest, examine
from hookline.trust.watch import Renewed, TrustWatch
from hookline.wiring.project.configured import load_configuration, trust_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.app import App
    from hookline.hooks.registry import Hook
    from hookline.trust.frozen import FrozenFile
    from hookline.trust.merging import TrustedMerges
    from hookline.trust.worktrees import TrustedWorktrees


def hook_verifier(app: App) -> Callable[[Hook], Awaitable[None]]:
    verify_all = verifier(app)

    async def verify(hook: Hook) -> None:
        # A notification runs nothing of the repository, and no change there may silence it.
        if hook.layer == "project" and not notifies(hook):
            await verify_all()

    return verify


def verifier(app: App) -> Callable[[], Awaitable[None]]:
    """A watcher that ignores files that one of our merges is writing."""
    verify = watcher(app)

    async def verify_at_rest() -> None:
        try:
            verify()
        except Untrusted as problem:
            # Files rarely change while a command runs.
            from hookline.domain.work.repository import RepositoryError
            from hookline.wiring.working.repositories import repository

            try:
                async with repository(app).merges.at_rest():
                    verify()
            except RepositoryError:  # without a repository, nothing is merged
                raise problem from None

    return verify_at_rest


def watcher(app: App) -> Callable[[], None]:
    """Raises Untrusted once the repository's code is not what was trusted."""
    # A user who trusts a folder permanently wants to edit its hooks while they are in use.
    if app.trust is None or app.settings is None or app.trust.verdict.always:
        return lambda: None
    return TrustWatch(
        app.project, app.trust.manifest, app.settings.hooks, renew=lambda: _renewed(app)
    ).verify


def is_current(app: App) -> bool:
    """Whether the configuration is the one that this process began with."""
    if app.trust is None or app.trust.verdict.always:
        return True
    began = app.trust.manifest.files.get(CONFIG_NAME, MISSING)
    return examine(app.project, app.project.config).digest == began


def merge_trust(app: App) -> TrustedMerges | None:
    """Compares work with what is trusted before it is merged; None if everything is."""
    # Only commands that merge pay for these.
    from hookline.trust.book import TrustBook
    from hookline.trust.merging import TrustedMerges

    if app.trust is not None and app.trust.verdict.always:
        return None
    home = user_folder(app.environ)
    manifest = app.trust.manifest if app.trust is not None else Manifest("", ())
    return TrustedMerges(app.project, home, TrustBook(home), app.settings, manifest)


def frozen(app: App) -> list[FrozenFile]:
    """The files that an agent must not edit; none if the user always trusts the folder."""
    if app.settings is None or app.trust is None or app.trust.verdict.always:
        return []
    from hookline.trust.frozen import frozen_files  # only agents' turns need it

    return frozen_files(app.project, app.settings)


def worktrees(app: App) -> TrustedWorktrees | None:
    """Compares worktrees with the project; None if everything is trusted."""
    if app.trust is None or app.trust.verdict.always:
        return None
    from hookline.trust.worktrees import TrustedWorktrees  # only worktrees need it

    return TrustedWorktrees(app.project)


def _renewed(app: App) -> Renewed | None:
    """What is trusted now, if it differs from when this process started."""
    home = user_folder(app.environ)
    settings = load_configuration(app.project, home)
    if settings is None or settings.has_errors:
        return None
    now = trust_in(app.project, home, settings, app.environ)
    return Renewed(now.manifest, settings.hooks) if now.verdict.trusted else None

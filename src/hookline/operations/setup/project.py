"""Makes a folder a project: its hookline.yaml, its store, its base branch, and trust in the file.

Never overwrites, never touches an agent's settings, and trusts only the file it wrote itself.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.text.display import untrusted
from hookline.errors import BadInput, StoreReadOnly, Untrusted
from hookline.operations.setup.first_base import keep_base, lacks_base
from hookline.project import CONFIG_NAME, FOLDER_NAME, user_folder
from hookline.trust.book import TrustBook
from hookline.trust.people import under_agent
from hookline.trust.stores import Recorded, recorded
from hookline.wiring.project.configured import load_configuration, shared, trust_in
from hookline.wiring.project.stores import open_project_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.project import Project
    from hookline.wiring.project.configured import Trust

STORE, BASE = "store", "base branch"


class Made(msgspec.Struct):
    """What was made, what was there already, and what only a person can do."""

    created: list[str] = []
    kept: list[str] = []
    trusted: bool = False
    asks: list[str] = []


def check_place(project: Project, environ: Mapping[str, str]) -> None:
    """Refuse a folder that cannot become a project, before anything is written."""
    if project.root == user_folder(environ):
        help = "run `hookline init` in the root of a repository"
        raise BadInput("this is your own configuration folder, not a repository", help=help)
    config, folder = project.config, project.folder
    for path, name, is_right, told in (
        (config, CONFIG_NAME, os.path.isfile, f"{CONFIG_NAME} exists and is not a file"),
        (folder, FOLDER_NAME, os.path.isdir, f"{folder} exists and is not a folder"),
    ):
        if os.path.lexists(path) and not is_right(path):
            help = f"move it away with `mv {name} {name}.old`, then run this again"
            raise BadInput(f"{told}: nothing was written", help=help)


def missing(project: Project, environ: Mapping[str, str]) -> Iterator[str]:
    """What `set_up` would make."""
    if not os.path.lexists(project.config):
        yield CONFIG_NAME
    known = recorded(user_folder(environ), project)
    if not _has_store(project, known):
        yield STORE
    elif known is not None and lacks_base():
        yield BASE


def _has_store(project: Project, known: Recorded | None) -> bool:
    return os.path.exists(project.database) or (known is not None and bool(known.url))


def set_up(project: Project, text: str, environ: Mapping[str, str]) -> Made:
    """Write the configuration unless there is one, make the store, and trust what was written."""
    made = Made()
    wrote = _write(project.config, text)
    (made.created if wrote else made.kept).append(CONFIG_NAME)
    try:
        is_ours = _make_store(project, environ, made)
    except BaseException:
        if wrote:  # the next one writes it again, and trusts it
            os.unlink(project.config)
        raise
    _trust(project, text if wrote else None, environ, made)
    if is_ours:
        keep_base()
    return made


def _write(path: str, text: str) -> bool:
    """Write a new file; False if there is one already, whoever made it and whenever."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            with suppress(OSError):
                os.unlink(path)
            raise
    except FileExistsError:
        return False
    except OSError as problem:
        raise StoreReadOnly(
            f"cannot write {path}: {problem.strerror}; nothing was changed",
            help="make the folder writable, or use another one",
        ) from problem
    return True


def _make_store(project: Project, environ: Mapping[str, str], made: Made) -> bool:
    """Make the store; False if there is one that someone else made."""
    home = user_folder(environ)
    existed = _has_store(project, recorded(home, project))
    try:
        settings = load_configuration(project, home)
        trust = trust_in(project, home, settings, environ) if settings is not None else None
        place = shared(project, home, settings, trust, environ)
        open_project_store(project, home, shared=place).close()
    except Untrusted as problem:
        made.kept.append(STORE)
        made.asks.append(problem.message)
        return False
    (made.kept if existed else made.created).append(STORE)
    return True


def _trust(project: Project, written: str | None, environ: Mapping[str, str], made: Made) -> None:
    """Trust the file that was just written, and nothing that was there before."""
    home = user_folder(environ)
    settings = load_configuration(project, home)
    if settings is None:
        return
    state = trust_in(project, home, settings, environ)
    if state.verdict.trusted:
        made.trusted = True
    elif written is None:
        made.asks.append(f"{CONFIG_NAME} existed before and is not trusted")
    elif CONFIG_NAME not in state.manifest.files:  # what the lines name is too large to verify
        made.asks.append(state.verdict.why)
    elif foreign := _not_ours(state, written):
        made.asks.append(f"the repository also contains {', '.join(foreign[:3])}")
    elif under_agent(environ):
        made.asks.append("only a person can trust a repository, and an agent runs this")
    else:
        TrustBook(home).grant(project, state.manifest)
        made.trusted = True


def _not_ours(state: Trust, written: str) -> list[str]:
    ours = hashlib.sha256(written.encode()).hexdigest()
    return [
        untrusted(entry.name)
        for entry in state.manifest.entries
        if entry.name != CONFIG_NAME or entry.content != ours
    ]

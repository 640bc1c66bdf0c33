"""The forge `shared-folder`: pull requests as files in a folder that several clones share.

It is the local forge in another folder. A forge of a server has the same methods, those of
`hookline.ports.work.Forge`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.forges.local import LocalForge
from hookline.domain.work.forge import ForgeSetup

if TYPE_CHECKING:
    from hookline.ports.work import ForgeSite

MERGES = False  # git merges, and the forge records it
REMOTE = None
CHECKS = False  # no server checks commits here
REVIEWS = False  # people approve with `hookline gate approve`


class OPTIONS(msgspec.Struct, forbid_unknown_fields=True):
    """What stands under `gates.options`; `hookline check` holds it against this."""

    folder: str


class SharedFolder(LocalForge):
    """Pull requests of several clones, each of which locks the folder while it writes."""

    name = "shared-folder"


async def open_forge(site: ForgeSite) -> SharedFolder:
    """The forge of a project; the folder counts from the project's root."""
    root = os.path.dirname(site.folder)
    folder = os.path.normpath(os.path.join(root, site.options["folder"]))
    if not os.path.isdir(os.path.dirname(folder)):
        raise ForgeSetup(f"there is no folder {os.path.dirname(folder)}", help="make it")
    return SharedFolder(folder, push_remote=site.remote)

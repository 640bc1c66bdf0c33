"""The files of the page, from the package: a fixed list, so that no path leads anywhere else."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from hookline.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "woff2": "font/woff2",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
    "txt": "text/plain; charset=utf-8",
}


class PageFile(NamedTuple):
    """A file of the page, its type, and the name of this very content."""

    content: bytes
    type: str
    tag: str


def page_files() -> Mapping[str, PageFile]:
    """Every file by its path in URLs; `/` is the page itself."""
    top = resources.files("hookline.surfaces.web").joinpath("static")
    found = {f"/{name}": each for name, each in _below(top, "")}
    return {**found, "/": found["/index.html"]}


def _below(folder: Traversable, before: str) -> Iterator[tuple[str, PageFile]]:
    for each in folder.iterdir():
        name = f"{before}{each.name}"
        kind = TYPES.get(each.name.rpartition(".")[2])
        if each.is_dir():
            yield from _below(each, f"{name}/")
        elif kind is not None:
            content = each.read_bytes()
            yield name, PageFile(content, kind, f'"{sha256(content).hexdigest()[:32]}"')

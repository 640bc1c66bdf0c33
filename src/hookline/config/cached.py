"""The settings of a project: from the cache, or read and kept there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.config import cache
from hookline.config.settings import Settings, decode
from hookline.errors import ConfigError

if TYPE_CHECKING:
    from hookline.config.load import Loaded
    from hookline.project import Project

_READINGS = 5


def load_settings(project: Project, home: str) -> Settings:
    """The settings of a project and its user, from the cache if nothing has changed."""
    entry = cache.CacheEntry.of(project, home)
    body = entry.read()
    settings = decode(body) if body is not None else None
    if settings is None:
        settings, entry = _read(project, home, entry)
    settings.config_digest = entry.config_digest
    return settings


def _read(
    project: Project, home: str, entry: cache.CacheEntry
) -> tuple[Settings, cache.CacheEntry]:
    # The reader imports YAML, the checks and difflib; with a valid cache none is needed.
    from hookline.config.load import read_settings

    for _ in range(_READINGS):
        loaded = read_settings(project, home)
        now = cache.CacheEntry.of(project, home)
        if now.key == entry.key:
            _keep(entry, loaded)
            return loaded.settings, entry
        entry = now
    raise ConfigError(
        "the configuration keeps changing while it is read", help="run the command again"
    )


def _keep(entry: cache.CacheEntry, loaded: Loaded) -> None:
    try:
        body = msgspec.json.encode(loaded.settings)
        entry.write(body, loaded.watched)
    except UnicodeEncodeError:  # a path that is not UTF-8 has no JSON: this project goes uncached
        return

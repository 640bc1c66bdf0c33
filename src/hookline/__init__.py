"""Hookline runs AI coding agents unattended and puts a hook at every point of their work.

The public names are imported when they are first used, so that `import hookline` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.version import __version__

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.domain.hooks.records import Action
    from hookline.domain.payloads import payload_of
    from hookline.domain.runs.model import EffectFailed
    from hookline.flows.context import Context
    from hookline.flows.definitions.finder import flow
    from hookline.hooks.registry import Hook, HookContext, HookRegistry, hook

__all__ = [
    "Action",
    "App",
    "Context",
    "EffectFailed",
    "Event",
    "Hook",
    "HookContext",
    "HookRegistry",
    "__version__",
    "flow",
    "hook",
    "payload_of",
]

_HOMES = {
    "Action": "hookline.domain.hooks.records",
    "App": "hookline.app",
    "Context": "hookline.flows.context",
    "EffectFailed": "hookline.domain.runs.model",
    "Event": "hookline.domain.events",
    "Hook": "hookline.hooks.registry",
    "HookContext": "hookline.hooks.registry",
    "HookRegistry": "hookline.hooks.registry",
    "flow": "hookline.flows.definitions.finder",
    "hook": "hookline.hooks.registry",
    "payload_of": "hookline.domain.payloads",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'hookline' has no attribute {name!r}")
    from importlib import import_module  # `import hookline` costs nothing

    return getattr(import_module(_HOMES[name]), name)

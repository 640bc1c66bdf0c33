"""Trust: what a repository brings runs only after its user has looked at it and said so.

Covered files (cover) become a manifest, the user's book says whether they trust exactly that,
and a watch sees to it that nothing changes between the verdict and the start of a hook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.trust.book import Grant, TaskGrant, TrustBook, Verdict
    from hookline.trust.configured import (
        configured_hooks,
        configured_uses,
        configured_variables,
    )
    from hookline.trust.cover import covered_files, covered_uses, named_files
    from hookline.trust.flows import TypedFlows
    from hookline.trust.manifest import Change, Entry, Manifest, fingerprint
    from hookline.trust.merging import Incoming, MergeTrust, configuration_errors
    from hookline.trust.people import refuse_agents, under_agent
    from hookline.trust.stores import adopt_store, owns_store, recorded_store
    from hookline.trust.watch import Renewed, Watch
    from hookline.trust.worktrees import TrustedJudges, Worktrees

__all__ = [
    "Change",
    "Entry",
    "Grant",
    "Incoming",
    "Manifest",
    "MergeTrust",
    "Renewed",
    "TaskGrant",
    "TrustBook",
    "TrustedJudges",
    "TypedFlows",
    "Verdict",
    "Watch",
    "Worktrees",
    "adopt_store",
    "configuration_errors",
    "configured_hooks",
    "configured_uses",
    "configured_variables",
    "covered_files",
    "covered_uses",
    "fingerprint",
    "named_files",
    "owns_store",
    "recorded_store",
    "refuse_agents",
    "under_agent",
]

# Imported when first used: every command asks who owns the store, and few ask anything else.
_HOMES = {
    "book": ("Grant", "TaskGrant", "TrustBook", "Verdict"),
    "configured": ("configured_hooks", "configured_uses", "configured_variables"),
    "cover": ("covered_files", "covered_uses", "named_files"),
    "flows": ("TypedFlows",),
    "manifest": ("Change", "Entry", "Manifest", "fingerprint"),
    "merging": ("Incoming", "MergeTrust", "configuration_errors"),
    "people": ("refuse_agents", "under_agent"),
    "stores": ("adopt_store", "owns_store", "recorded_store"),
    "watch": ("Renewed", "Watch"),
    "worktrees": ("TrustedJudges", "Worktrees"),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"hookline.trust.{module}"), name)
    raise AttributeError(f"module 'hookline.trust' has no attribute {name!r}")

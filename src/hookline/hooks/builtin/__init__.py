"""The built-in hooks by name, and the points where each can be used.

Only names live here, so that a configuration can be checked without loading any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.points import GATE, NOTIFYING, POINTS

if TYPE_CHECKING:
    from hookline.hooks.registry import Hook

GATES = tuple(point.name for point in POINTS.values() if point.rule == GATE)

# These are always registered and can only be tuned or switched off.
REACT_BUILTINS: dict[str, tuple[str, ...]] = {
    "auto-create-review-task": ("task_completed",),
    "check-dependency-satisfaction": (
        "task_completed",
        "task_cancelled",
        "task_deleted",
        "dependency_removed",
    ),
    "track-agent-task-lifecycle": ("task_created", "task_started", "task_completed"),
}

# So are these, which steer runs.
STEER_BUILTINS: dict[str, tuple[str, ...]] = {
    "native-orchestrator": ("on-iteration-start",),
    "native-finalization": ("on-iteration-end",),
}

STOP_HOOKS = (
    *("checked", "default", "validation", "promise", "evidence"),
    *("tdd", "security-remediation", "checkpoint", "coverage", "max-iterations", "files-changed"),
)

# Hooks that consist of other hooks: a key whose value lists them.
CHAINS = ("all_of", "any_of", "not")

# Tells people what waits for them, through a channel.
NOTIFY = "notify"

# These are listed at their point: by name alone, or as a key with their arguments.
NAMED_BUILTINS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*STOP_HOOKS, *CHAINS), ("stop",)),
    **dict.fromkeys(
        (
            *("rebase_on_main", "run_tests", "create_pr", "lint", "secrets"),
            *("diff_limits", "ci_status", "gatekeeper", "human", "reviews"),
        ),
        GATES,
    ),
    NOTIFY: NOTIFYING,
    **STEER_BUILTINS,
}

# The hooks at a point that the configuration does not mention.
POINT_DEFAULTS = {point.name: point.defaults for point in POINTS.values()}


def secret_names(hook: Hook) -> list[str]:
    """The environment variables that a notification takes its secrets from."""
    given = hook.metadata.get("arguments", {}) if notifies(hook) else {}
    return [name for key, name in given.items() if key.endswith("_env")]


def notifies(hook: Hook) -> bool:
    """Whether a hook tells people: its calls wait until they are sent together."""
    return hook.kind == "built-in" and hook.target == NOTIFY

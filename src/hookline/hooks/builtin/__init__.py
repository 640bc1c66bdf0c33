"""The built-in hooks by name and the points where each may stand.

Only names live here, so that a configuration can be checked without loading any of them.
"""

from __future__ import annotations

GATES = ("before_submit", "after_submit", "before_merge", "after_merge")

# These are registered by themselves and can only be tuned or switched off.
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
    *("default", "validation", "promise", "evidence"),
    *("tdd", "security-remediation", "checkpoint", "coverage", "max-iterations", "files-changed"),
)

# Hooks made of others: a key whose value is the others.
CHAINS = ("all_of", "any_of", "not")

# These stand in a list at their point: alone as a word, or as a key with their arguments.
NAMED_BUILTINS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*STOP_HOOKS, *CHAINS), ("stop",)),
    **dict.fromkeys(
        (
            *("rebase_on_main", "run_tests", "create_pr", "lint", "secrets"),
            *("diff_limits", "ci_status", "gatekeeper", "human", "reviews"),
        ),
        GATES,
    ),
    **STEER_BUILTINS,
}

# What stands at a point that the configuration does not mention.
POINT_DEFAULTS: dict[str, tuple[str, ...]] = {
    "stop": ("default",),
    "before_submit": ("create_pr",),
    "on-iteration-start": ("native-orchestrator",),
    "on-iteration-end": ("native-finalization",),
}

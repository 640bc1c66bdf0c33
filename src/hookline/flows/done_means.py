"""What done means for the task of a session, in the words that its agent is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.taskpage import indented
from hookline.flows.prompts import capped, code, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.sessions import Charge

MOST_RULES = 20

_ENDING = """\
How to end your turn:
- The goal is reached, and you have verified it: end your last message with \
`<promise>COMPLETE</promise>`.
- You cannot go on without a person: say what you need and end with `<promise>BLOCKED</promise>`.
- Otherwise: say what is left{next}, and end with `<promise>CONTINUE</promise>`."""
_GIT = {
    "commit": "Commit if you can; what you leave uncommitted is committed for you.",
    "refuse": "Commit all of your work on this branch: uncommitted work is refused.",
}
_OWN_FOLDER = (
    "Do not commit, push, stash or switch branches unless the goal asks for it. Leave changes alone"
    " that were there before you."
)


def done_means(
    charge: Charge,
    rules: Sequence[Mapping[str, Any]],
    details: Mapping[str, Any],
    ahead: Mapping[str, Any],
    *,
    is_last: bool = False,
) -> str:
    """Where the work is, what belongs to it, what will check it, and how to end.

    `details` are the task's deliverables and notes, `ahead` what `ChecksAhead` found.
    """
    checks = [*(_rule(each) for each in rules[:MOST_RULES]), *ahead.get("stop", ())]
    gates = [f"{number}. {line}" for number, line in enumerate(ahead.get("gates", ()), 1)]
    parts = [
        "# What done means",
        _place(charge),
        task_details(details),
        _listed("Checks that run after each of your turns:", [f"- {line}" for line in checks]),
        _listed("Gates, in this order, once you promise COMPLETE:", gates),
        "What a gate finds comes back to you. " * bool(gates)
        + "Run the commands above before you end your turn." * bool(checks or gates),
        frozen(ahead),
        _git(charge, ahead),
        _ENDING.format(next="" if is_last else ", for the next iteration"),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def task_details(details: Mapping[str, Any]) -> str:
    """What a task must deliver, and what was noted on it; nothing where there is neither."""
    parts = [
        _listed("Deliverables:", _items(details.get("deliverables", ()))),
        _listed("Notes on the task:", _items(details.get("notes", ()))),
    ]
    return "\n\n".join(part for part in parts if part)


def _place(charge: Charge) -> str:
    if charge.branch is None:
        return (
            f"This is task {charge.task_id}. You work in a person's own folder: nothing is"
            " committed, merged or submitted for you."
        )
    return (
        f"This is task {charge.task_id}. You work on the branch {code(charge.branch)} in the"
        f" worktree {charge.worktree}. The work goes into {code(str(charge.base))}."
    )


def _git(charge: Charge, ahead: Mapping[str, Any]) -> str:
    if charge.branch is None:
        return _OWN_FOLDER
    rule = _GIT[ahead.get("uncommitted", "commit")]
    return f"{rule} Do not push, merge or switch branches."


def frozen(ahead: Mapping[str, Any]) -> str:
    """What the agent must leave as it is; nothing where it may change everything."""
    lines = [f"- {code(pattern)}" for pattern in ahead.get("frozen", ())]
    if ahead.get("trusted"):
        lines.append("- hookline.yaml and the scripts that it names, unless the goal asks for it")
    return _listed("Do not change:", lines)


def _rule(rule: Mapping[str, Any]) -> str:
    """A validation rule in a line."""
    line, files = code(rule.get("command") or ""), ", ".join(map(code, rule.get("files") or ()))
    said = {
        "command": line,
        "content_pattern": f"{files or 'your last message'} must match"
        f" {code(rule.get('pattern') or '')}",
        "coverage": f"at least {rule.get('minimum')}% test coverage"
        + (f", measured by {line}" if rule.get("command") else ""),
        "file_existence": f"these files must exist: {files}",
        "custom": code(rule.get("python") or ""),
    }[rule["type"]]
    return f"{one_line(rule['name'])}: {one_line(said)}"


def _items(texts: Sequence[str]) -> list[str]:
    return [f"- {indented(capped(text))}" for text in texts]


def _listed(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *lines]) if lines else ""

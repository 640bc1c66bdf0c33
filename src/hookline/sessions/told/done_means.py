"""What done means for the task of a session, as its agent is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.pages.taskpage import indented
from hookline.domain.text.display import line_of
from hookline.hooks.texts import told
from hookline.hooks.told_commands import can_tell, with_command
from hookline.sessions.told.prompts import capped, code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookline.domain.sessions.model import SessionInput
    from hookline.sessions.requests import ChecksTold, TaskDetails

MOST_RULES = 20
# The stop hooks that hold a promise against what was done.
CHECKED, EVIDENCE = "checked", "evidence"


def done_means(
    given: SessionInput,
    rules: Sequence[Mapping[str, Any]],
    details: TaskDetails,
    ahead: ChecksTold,
    *,
    in_git: bool = False,
) -> str:
    """Where the work is, what belongs to it, what will check it, and how to end.

    `details` are the task's deliverables and notes, `ahead` what `ChecksAhead` found; `in_git` is
    whether changes can be seen.
    """
    must_change = bool(ahead.get("changes")) and in_git
    checks = [*(_rule(each) for each in rules[:MOST_RULES]), *ahead.get("stop", ())]
    gates = [f"{number}. {line}" for number, line in enumerate(ahead.get("gates", ()), 1)]
    parts = [
        "# What done means",
        place(given),
        task_details(details),
        _listed("Checks after each turn:", [f"- {line}" for line in checks]),
        _listed("Gates, in order, after COMPLETE:", gates),
        " ".join(_before_the_end(rules, ahead)),
        frozen(ahead),
        _git(given, ahead),
        told(
            "session",
            "ending",
            counts=_counts(given, rules, ahead, must_change),
            or_nothing=", or no change is needed" if must_change else "",
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _before_the_end(rules: Sequence[Mapping[str, Any]], ahead: ChecksTold) -> Iterator[str]:
    if ahead.get("gates"):
        yield "What a gate finds comes back to you."
    lines = (rule.get("command") or "" for rule in rules[:MOST_RULES])
    if ahead.get("runnable") or any(line and can_tell(line) for line in lines):
        yield "Make the commands above pass before COMPLETE."


def _counts(
    given: SessionInput, rules: Sequence[Mapping[str, Any]], ahead: ChecksTold, must_change: bool
) -> str:
    """When a promise counts, where something else than the agent's word decides."""
    conditions = []
    if ahead.get("proof") == EVIDENCE:
        conditions.append("the checks pass after your last edit")
    elif ahead.get("proof") and rules:
        conditions.append("no check fails")
    if must_change:
        alone = given.branch is None
        changed = "this session changed files" if alone else "your branch has changes"
        conditions.append(changed)
    return f" It counts only if {' and '.join(conditions)}." if conditions else ""


def each_task(rules: Sequence[Mapping[str, Any]], ahead: ChecksTold) -> str:
    """What holds for each task of a plan that is done in its own session."""
    checks = (*map(_rule, rules[:MOST_RULES]), *ahead.get("stop", ()), *ahead.get("gates", ()))
    lines = [f"- {line}" for line in checks]
    listed = _listed("The work of each task must pass these on its own:", lines)
    unchanged = frozen(ahead, "No task may change", "goal")
    return "\n\n".join(part for part in (listed, unchanged) if part)


def task_details(details: TaskDetails) -> str:
    """The deliverables and notes of a task; empty if it has neither."""
    parts = [
        _listed("Deliverables:", _items(details.get("deliverables", ()))),
        _listed("Notes:", _items(details.get("notes", ()))),
    ]
    return "\n\n".join(part for part in parts if part)


def place(given: SessionInput) -> str:
    """Which task it is, and where its work is done."""
    if given.branch is None:
        return (
            f"This is task {given.task_id}. You work in a person's own folder: nothing is"
            " committed, merged or submitted for you."
        )
    return (
        f"This is task {given.task_id}, in its worktree on the branch"
        f" {code(given.branch)}, which goes into {code(str(given.base))}."
    )


def _git(given: SessionInput, ahead: ChecksTold) -> str:
    if given.branch is None:
        return told("session", "own-folder")
    rule = told("session", ahead.get("uncommitted", "commit"))
    return f"{rule} Do not push, switch branches or merge it elsewhere."


def frozen(ahead: ChecksTold, title: str = "Do not change", unless: str = "task") -> str:
    """What the agent must not change, but for what `unless` asks; empty if it may change all."""
    lines = [f"- {code(pattern)}" for pattern in ahead.get("frozen", ())]
    if ahead.get("trusted"):
        named = ", ".join(code(name) for name in ahead.get("files", ()))
        also = f", and what it names: {named}," if named else ""
        lines.append(f"- hookline.yaml{also or ','} unless the {unless} asks for it")
    return _listed(f"{title}:", lines)


def _rule(rule: Mapping[str, Any]) -> str:
    """A validation rule as it is told, with its command at the end."""
    files, line = ", ".join(map(code, rule.get("files") or ())), rule.get("command") or ""
    said = {
        "command": "",
        "content_pattern": f"{files or 'your last message'} must match"
        f" {code(rule.get('pattern') or '')}",
        "coverage": f"at least {rule.get('minimum')}% test coverage"
        + (", measured by" if line else ""),
        "file_existence": f"must exist: {files}",
        "custom": "a function of the project is called",
    }[rule["type"]]
    lead = f"{line_of(rule['name'])}: {line_of(said)}".rstrip()
    return with_command(lead, line) if line else lead


def _items(texts: Sequence[str]) -> list[str]:
    return [f"- {indented(capped(text))}" for text in texts]


def _listed(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *lines]) if lines else ""

"""What attention says about gates and merges: why work waits, and the command that helps."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.config.task_types import belongs_in_worktree
from hookline.domain.hooks.names import short_name, shown_hook
from hookline.domain.runs.model import JournalEffect, Run, run_number
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.tasks import BLOCKED, Task
from hookline.domain.timestamps import iso
from hookline.domain.work.repository import hook_changes
from hookline.domain.work.submissions import (
    AGENT,
    BUDGET,
    FORGE,
    MERGE,
    PEOPLE,
    SIGNAL,
    SUBMIT,
    TRUST,
    TURN,
)
from hookline.hooks.builtin.gates.common import PUSH
from hookline.hooks.gates.reports import BENEATH, LEAKED
from hookline.hooks.gates.verdicts import (
    FORGE_FAILED,
    OWN_WORK,
    asked_person,
    merge_wait,
    said_by,
    verdicts_of,
)
from hookline.pipeline.gate_verbs import wait_of
from hookline.pipeline.repository.requests import UNTRUSTED, WAITS
from hookline.project import path_here
from hookline.sessions.git_control import changed_in
from hookline.tasks.task_runs import runs_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.hooks.gates.verdicts import GateVerdict
    from hookline.ports.store import View

AFTER_MERGE = "after_merge"
# What asks a person in the place of a gate, and is answered elsewhere.
ELSEWHERE = frozenset({PEOPLE, FORGE, TRUST, BUDGET, AGENT})
DECIDED = "gate_decided"
NOT_RUN = (126, 127)
# How many merges are searched for hooks that failed after them.
MERGES = 200
# How many of a person's own files a command names.
MOST_PATHS = 20


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run does nothing; `until` is None if unknown."""

    reason: str
    since: str | None = None
    until: str | None = None


class Help(NamedTuple):
    """What a person should know, and what to type."""

    hint: str
    command: str


def open_question(view: View, run: Run) -> GateVerdict | None:
    """What a run asks a person, if it is not answered yet."""
    asked = asked_person(view, run)
    told = {name for _, name, _ in view.runs.signals(run)}
    return asked if told.isdisjoint((SIGNAL, TRUST, PEOPLE, FORGE, BUDGET, AGENT)) else None


def last_flow(view: View, task: Task) -> str:
    """The flow to start again for submitted work whose run is over: its merge, if it had begun."""
    submitted = view.log.latest(task.id, ("task_submitted",))
    since = submitted.timestamp if submitted else ""
    began = [run.created_at or "" for run in runs_on(view, task.id, MERGE)]
    return MERGE if any(each >= since for each in began) else SUBMIT


def asked_help(run: Run, asked: GateVerdict) -> Help:
    """How a person answers what a run asks."""
    task, base, branch = (str(run.input[name]) for name in ("taskId", "base", "branch"))
    if asked.hook == TRUST:
        return Help(f"not merged: {asked.message}", f"hookline trust --task {task}")
    if asked.hook == PEOPLE:
        return Help(asked.message, str(asked.context.get("command")))
    if asked.hook == FORGE:
        return Help(asked.message, f"hookline merge {task}")
    if asked.hook == BUDGET:
        option = asked.context.get("option")
        return Help(
            asked.message, f"hookline {run.flow} {task}{option}" if option else "hookline work"
        )
    if asked.hook == AGENT:
        repair = asked.context.get("command")
        first = f"{repair} && " if repair else ""
        return Help(asked.message, f"{first}hookline {run.flow} {task}")
    hook = shown_hook(asked.hook or "a gate")
    look = f"git diff {shlex.quote(base)}...{shlex.quote(branch)}"
    said = f"the gate {hook} at {asked.point} waits: {asked.message or 'for you'}"
    said += f"; `{look}` shows the work"
    return Help(said, f"hookline gate approve {task} (or: reject)")


def left_help(app: App, view: View, task: Task) -> Help:
    """What a person can do about a task that is blocked or was sent back; the hint may be empty."""
    if task.state == BLOCKED:
        return Help("", f"hookline task unblock {task.id}")
    again = f"hookline submit {task.id}"
    if found := _sent_back_help(app, view, task):
        return found
    if belongs_in_worktree(app.settings, app.project.folder, task):
        return Help(f"if you fix it yourself: {again}", f"hookline run --task {task.id}")
    return Help("", again)


def _sent_back_help(app: App, view: View, task: Task) -> Help | None:
    """What helps work that was sent back for a reason that an agent cannot fix."""
    again = f"hookline submit {task.id}"
    newest = _last_run(view, task, SESSION, SUBMIT, MERGE)
    if newest is not None and (changed := changed_in(view, newest)):
        look = "`git config --list --show-origin` and `ls .git/hooks .git/info` show it"
        off = "; until then Hookline's git runs no hooks" if hook_changes(changed) else ""
        return Help(f"{look}; undo what you do not want, then submit it again{off}", again)
    run = _last_run(view, task, SUBMIT, MERGE)
    if run is None:
        return None
    if _had_no_commit(view, run):
        done = f"hookline task update {task.id} --changes none && {again}"
        more = f"hookline run --task {task.id}"
        return Help(f"if nothing had to change, say so; to let an agent continue: {more}", done)
    merge = _refused_merge(view, run)
    kind = merge.get("kind")
    if kind == "local-edits":
        return _edits_help(merge, again)
    last = next(iter(verdicts_of(view, run)[-1:]), None)
    if "diverged" in (kind, last.context.get(PUSH) if last else None):
        return _others_help(app, run, again)
    if help := _push_help(kind, again):
        return help
    if merge.get("status") in (UNTRUSTED, WAITS):
        return Help("nothing is left to fix in the work: ask again once the wait is over", again)
    if last is not None and last.status == "pending":
        hook = shown_hook(last.hook or "a gate")
        return Help(f"{hook} still waits: deal with what it names, then ask it again", again)
    return _failed_gate(task.id, last, again) if last and last.status == "failure" else None


def _others_help(app: App, run: Run, again: str) -> Help:
    """How commits that someone else pushed to the branch of the work get into it."""
    place = shlex.quote(path_here(app.project.root, run.input["worktree"]))
    branch = shlex.quote(run.input["branch"])
    remote = shlex.quote(app.sections.gates.remote or "origin")
    hint = f"someone else pushed to {branch}: rebase the work onto that, and submit it again"
    return Help(hint, f"git -C {place} pull --rebase {remote} {branch} && {again}")


def _push_help(kind: str | None, again: str) -> Help | None:
    if kind == "rejected":
        return Help("the remote refused the push: check its rules and your permissions", again)
    if kind == "unreachable":
        return Help("check the remote: `git ls-remote` must work", again)
    return None


def _failed_gate(task_id: str, last: GateVerdict, again: str) -> Help | None:
    if help := _push_help(last.context.get(PUSH), again):
        return help
    hook = shown_hook(last.hook or "a gate")
    if last.context.get(OWN_WORK):
        pass_by = f"hookline gate override {task_id} {shlex.quote(hook)} --reason TEXT"
        return Help("configure another agent for this gate, or review the work yourself", pass_by)
    if last.context.get(FORGE_FAILED):
        return Help("", again)
    if last.timed_out:
        return Help(f"give {hook} more time with `timeout:` in hookline.yaml", again)
    if last.exit_code in NOT_RUN:
        return Help("install the program, or put it on the PATH of this command", again)
    return Help(f"{hook} could not check the work: fix the gate", again) if last.broke else None


def newest_merges(view: View) -> list[Run]:
    """The newest runs that ended with the result of a merge, the last one first."""
    merges = [run for run in view.runs.of_flow(MERGE) if isinstance(run.value, dict)]
    return merges[: -MERGES - 1 : -1]


def failed_after_merge(view: View) -> Iterator[tuple[str, GateVerdict]]:
    """The hooks whose last call about a merge failed, and its task."""
    seen = set()
    for run in newest_merges(view):
        task_id: str = run.input["taskId"]
        accepted = is_accepted(view, run)
        for each in reversed(verdicts_of(view, run)):
            if each.point == AFTER_MERGE and each.hook not in seen:
                seen.add(each.hook)
                if each.status == "failure" and not accepted:
                    yield task_id, each


def merged_unchecked(view: View) -> Iterator[Run]:
    """The newest merges that no gate checked or nothing tested, since one that was fine."""
    for run in newest_merges(view):
        if run.value.get("unjudged"):
            yield from () if is_accepted(view, run) else (run,)
        elif run.value.get("outcome") == "merged":
            return


def merged_with(view: View, sign: str) -> Iterator[Run]:
    """Merges that were found to have something, such as LEAKED, until a person saw it."""
    for run in newest_merges(view):
        if run.value.get(sign) and not is_accepted(view, run):
            yield run


def is_accepted(view: View, run: Run) -> bool:
    """Whether a person has accepted what is wrong with a merge."""
    decided = view.log.events(node_id=run.input["taskId"], types=(DECIDED,))
    seen = ((each.data["run"], each.data["point"]) for each in decided)
    return (run.run_id, AFTER_MERGE) in seen


def left_by_merge(view: View, task: Task) -> Run | None:
    """The merge of a task that attention lists because no one has accepted it."""
    runs = [each.run for task_id, each in failed_after_merge(view) if task_id == task.id]
    found = (*merged_unchecked(view), *merged_with(view, LEAKED), *merged_with(view, BENEATH))
    runs += [run.run_id for run in found if run.input["taskId"] == task.id]
    named = [run_id for run_id in runs if run_id is not None]
    return view.runs.find(max(named, key=run_number)) if named else None


def last_pending(view: View, run: Run) -> GateVerdict | None:
    """The gate that a run waits for and that no person decides, or the forge."""
    if (waits := merge_wait(view, run)) is not None:
        return None if waits.waits_for_person else waits
    found = verdicts_of(view, run)
    return found[-1] if found and found[-1].status == "pending" else None


def _last_run(view: View, task: Task, *flows: str) -> Run | None:
    found = runs_on(view, task.id, *flows)
    return max(found, key=lambda run: run.updated_at or "", default=None)


def _refused_merge(view: View, run: Run) -> dict[str, Any]:
    """How git or a remote refused what a run wanted to merge last."""
    for effect in reversed(view.runs.effects(run)):
        if effect.kind == "repo" and effect.args.get("verb") in ("merge", "ask_people"):
            return effect.value if isinstance(effect.value, dict) else {}
    return {}


def _had_no_commit(view: View, run: Run) -> bool:
    """Whether a run ended because there was no work, here or elsewhere."""
    return any(
        (each.kind, each.args.get("verb")) == ("gate", "without_commits")
        and not each.args.get("elsewhere")
        for each in view.runs.effects(run)
    )


def _edits_help(merge: dict[str, Any], again: str) -> Help:
    """How a person moves only the files that block a merge out of the way."""
    paths = merge.get("paths") or []
    if not 0 < len(paths) <= MOST_PATHS:  # or git is in the middle of an operation there
        return Help("fix it in your checkout", again)
    # A name may contain what git takes for a pattern.
    git = ["git", "-C", merge["checkout"], "--literal-pathspecs"]
    put_away = shlex.join([*git, "stash", "push", "--include-untracked", "--", *paths])
    hint = "your own edits block the merge: commit or stash them"
    return Help(hint, f"{put_away} && {again}")


# What runs wait for


def waiting(view: View, run_id: str) -> Waiting | None:
    """What a run waits for; None while it advances."""
    run = view.runs.find(run_id)
    until = iso(run.wake_at) if run.wake_at else None
    if run.flow == SESSION:
        told = view.log.events(node_id=run_id, types=("session_waits",)) if until else []
        why = f"waits for its model: {told[-1].data['reason']}" if told else ""
        return Waiting(reason=why, since=told[-1].timestamp, until=until) if told else None
    asked = asked_person(view, run)
    if asked is not None:
        return Waiting(reason=f"waits for you: {_said(asked)}", since=asked.started_at)
    for effect in view.runs.pending(run):
        if (effect.kind, effect.args.get("name")) == ("signal", TURN):
            return Waiting(reason="waits for its turn to merge", since=effect.requested_at)
        if effect.kind == "sleep":  # the one thing that gates sleep for
            return Waiting(reason="waits for its model", since=effect.requested_at, until=until)
    gate = wait_of(view, run)
    return _of_gate(view, run, gate, until) if gate is not None else None


def _of_gate(view: View, run: Run, gate: JournalEffect, until: str | None) -> Waiting:
    said = verdicts_of(view, run)
    last = merge_wait(view, run) or (said[-1] if said else None)
    who = _said(last) if last is not None else "a gate"
    return Waiting(reason=f"waits for {who}", since=gate.requested_at, until=until)


def _said(verdict: GateVerdict) -> str:
    said = said_by(verdict.status, verdict.message)
    return f"{short_name(verdict.hook or 'a gate')}: {said}"

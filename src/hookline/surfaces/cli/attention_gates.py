"""What attention says about gates and merges: why work waits, and the command that really helps."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.config.pipeline import belongs_in_worktree
from hookline.domain.sessions import FLOW
from hookline.domain.submissions import FORGE, MERGE, PEOPLE, SIGNAL, SUBMIT, TRUST
from hookline.domain.tasks import BLOCKED
from hookline.flows.git_control import changed_in
from hookline.hooks.builtin.gates_push import PUSH
from hookline.hooks.verdicts import asked_person, merge_wait, verdicts
from hookline.surfaces.cli.gate_show import shown_hook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.adapters.store.sqlite import View
    from hookline.app import App
    from hookline.domain.runs import Run
    from hookline.domain.tasks import Task
    from hookline.hooks.verdicts import Verdict

AFTER_MERGE = "after_merge"
NOT_RUN = (126, 127)
# So many merges are looked at for hooks that failed after them.
MERGES = 200
# So many files of a person's own are named in a command.
MOST_PATHS = 20


class Help(NamedTuple):
    """What a person should know, and what to type."""

    hint: str
    command: str


def open_question(view: View, run: Run) -> Verdict | None:
    """What a run asks a person, if nobody has answered it yet."""
    asked = asked_person(view, run)
    told = {name for _, name, _ in view.runs.signals(run)}
    return asked if told.isdisjoint((SIGNAL, TRUST, PEOPLE, FORGE)) else None


def last_flow(view: View, task: Task) -> str:
    """What is to be done with submitted work whose run is over: its merge, if it had begun."""
    submitted = view.log.events(node_id=task.id, types=("task_submitted",))
    since = submitted[-1].timestamp if submitted else ""
    merges = (run for run in view.runs.of_flow(MERGE) if run.input.get("taskId") == task.id)
    return MERGE if any((run.created_at or "") >= since for run in merges) else SUBMIT


def asked_help(run: Run, asked: Verdict) -> Help:
    """How a person answers what a run asks."""
    task, base, branch = (str(run.input[name]) for name in ("taskId", "base", "branch"))
    if asked.hook == TRUST:
        return Help(f"not merged: {asked.message}", f"hookline trust --task {task}")
    if asked.hook == PEOPLE:
        return Help(asked.message, str(asked.context.get("command")))
    if asked.hook == FORGE:
        return Help(asked.message, f"hookline merge {task}")
    hook = shown_hook(asked.hook or "a gate")
    look = f"git diff {shlex.quote(base)}...{shlex.quote(branch)}"
    said = f"{hook} at {asked.point}: {asked.message or 'it waits'}; to look at it: {look}"
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
    """What helps work that was sent back, where an agent could do nothing about the cause."""
    again = f"hookline submit {task.id}"
    newest = _last_run(view, task, FLOW, SUBMIT, MERGE)
    if newest is not None and changed_in(view, newest):
        look = "`git config --list --show-origin` and `ls .git/hooks .git/info` show it"
        return Help(f"{look}; undo what you do not want, then go on", again)
    run = _last_run(view, task, SUBMIT, MERGE)
    if run is None:
        return None
    if _had_no_commit(view, run):
        done = f"hookline task update {task.id} --changes none && {again}"
        more = f"hookline run --task {task.id}"
        return Help(f"say so if nothing had to change; otherwise an agent goes on: {more}", done)
    merge = _refused_merge(view, run)
    kind = merge.get("kind")
    if kind == "local-edits":
        return _edits_help(merge, again)
    if help := _push_help(kind, again):
        return help
    found = [each for each in verdicts(view, task.id) if each.run == run.run_id]
    last = found[-1] if found else None
    return _failed_gate(last, again) if last is not None and last.status == "failure" else None


def _push_help(kind: str | None, again: str) -> Help | None:
    if kind in ("rejected", "diverged"):
        return Help("the remote refused the push: see to its rules or your rights", again)
    if kind == "unreachable":
        return Help("see to the remote: `git ls-remote` must work", again)
    return None


def _failed_gate(last: Verdict, again: str) -> Help | None:
    if help := _push_help(last.context.get(PUSH), again):
        return help
    hook = shown_hook(last.hook or "a gate")
    if last.timed_out:
        return Help(f"give {hook} more time with `timeout:` in hookline.yaml", again)
    if last.exit_code in NOT_RUN:
        return Help("install the program, or put it on the PATH of this command", again)
    return Help(f"{hook} has not judged the work: see to it", again) if last.broke else None


def failed_after_merge(view: View) -> Iterator[tuple[str, Verdict]]:
    """The hooks that failed when they were last told of a merge, and of which task."""
    seen = set()
    merges = [run for run in view.runs.of_flow(MERGE) if isinstance(run.value, dict)]
    for run in reversed(merges[-MERGES:]):
        task_id: str = run.input["taskId"]
        for each in reversed(list(verdicts(view, task_id))):
            if each.run == run.run_id and each.point == AFTER_MERGE and each.hook not in seen:
                seen.add(each.hook)
                if each.status == "failure":
                    yield task_id, each


def merged_unjudged(view: View) -> Iterator[Run]:
    """The newest merges of what no gate has judged, or nothing tested, since one that was right."""
    merges = [run for run in view.runs.of_flow(MERGE) if isinstance(run.value, dict)]
    for run in reversed(merges[-MERGES:]):
        if run.value.get("unjudged"):
            yield run
        elif run.value.get("outcome") == "merged":
            return


def last_pending(view: View, run: Run) -> Verdict | None:
    """The gate that a run waits for and that no person decides, or the forge."""
    if (waits := merge_wait(view, run)) is not None:
        return None if waits.waits_for_person else waits
    found = [each for each in verdicts(view, run.input["taskId"]) if each.run == run.run_id]
    last = found[-1] if found else None
    return last if last is not None and last.status == "pending" else None


def _last_run(view: View, task: Task, *flows: str) -> Run | None:
    found = [r for flow in flows for r in view.runs.of_flow(flow) if r.input["taskId"] == task.id]
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
    """How a person gets what is in the way of a merge out of it, and nothing else."""
    paths = merge.get("paths") or []
    if not 0 < len(paths) <= MOST_PATHS:  # or git is in the middle of something there
        return Help("see to it in your checkout", again)
    # A name may hold what git takes for a pattern.
    git = ["git", "-C", merge["checkout"], "--literal-pathspecs"]
    put_away = shlex.join([*git, "stash", "push", "--include-untracked", "--", *paths])
    hint = "your own edits are in the way: commit them, or put them away"
    return Help(hint, f"{put_away} && {again}")

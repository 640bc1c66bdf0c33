"""Effects on the repository: preparing a task's work, merging it, and cleaning up after it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hookline.domain.commit_message import commit_message, trailers_of
from hookline.domain.forge import (
    ForgeError,
    ForgeTemporary,
    MergeWaits,
    NotMergeable,
    refuse_other_base,
)
from hookline.domain.repository import (
    BaseMoved,
    Kept,
    MergeConflict,
    RebaseConflict,
    Refused,
    RepositoryError,
    control_told,
)
from hookline.domain.runs import OK, Resolution
from hookline.domain.submissions import MAX_FILE
from hookline.domain.taskpage import task_page
from hookline.errors import HookFailure, Untrusted
from hookline.flows import conflict_effects, findings, prompts
from hookline.flows.checks_ahead import ChecksAhead, frozen_by
from hookline.flows.conflict_effects import conflicting
from hookline.flows.forge_merge import ForgeMerge, not_yet, refused_by_git, waits
from hookline.flows.git_control import GitControl
from hookline.flows.judged import export_task
from hookline.flows.merge_facts import REBASED, TESTED, MergeFacts
from hookline.flows.merge_trust import unfit_result
from hookline.flows.merged_tests import POINTS, TREES, MergedTests
from hookline.flows.people_merge import PeopleMerge
from hookline.hooks.builtin.gates_branch import unfinished_prompt
from hookline.hooks.builtin.gates_common import astray_prompt
from hookline.hooks.framing import framed
from hookline.hooks.overrides import overrides
from hookline.tasks.work_record import is_excused, start_of

if TYPE_CHECKING:
    from hookline.domain.forge import PullRequest
    from hookline.domain.repository import Finding, Prepared, RepositoryState
    from hookline.domain.runs import JournalEffect, Run
    from hookline.domain.tasks import Task
    from hookline.flows.effects import Executor
    from hookline.hooks.registry import Hook
    from hookline.ports.store import Transaction
    from hookline.ports.work import Forge, Repository

# The base can move while a result is tested; so often it is built again.
MOVES = 5
MOVED_WAIT = 5.0
NAMED = 5


class RepoEffects:
    """What flows of gates do to the repository, for one executor."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._around = executor.around
        self._control = GitControl(executor.around)

    async def repo(self, run: Run, effect: JournalEffect, guard: Any) -> Resolution:
        """Carry out one verb; trouble that an agent or a person can fix is part of its value."""
        verbs = {
            "prepare": self._prepare,
            "merge": self._merge,
            "open_conflict": self._conflict,
            "drop_conflict": self._conflict,
            "ask_people": self._ask_people,
            "clean": self._clean,
            "checks": self._checks,
        }
        return Resolution(OK, await verbs[effect.args["verb"]](run, effect, guard))

    async def _prepare(self, run: Run, effect: JournalEffect, guard: Any) -> dict[str, Any]:
        args = effect.args
        task = self._task(args["taskId"])
        folder = args["worktree"]
        place: dict[str, Any] = {"goal": task.goal, "taskPath": "", "commits": 0, "head": None}
        place["task"] = prompts.capped(task_page(task))
        gates = [hook for point in POINTS for hook in self._gates(run, task, point)]
        place["ahead"] = frozen_by(gates, self._around)
        try:
            if (left := await self._settle_conflict(args)) is not None:
                return {**place, **left}
            # Before anything is written there: it may be the folder of something else by now.
            await self._repository.check(folder, args["branch"])
            with self._around.store.read() as view:
                place["taskPath"] = export_task(view, task, folder)
            state = await self._repository.describe(folder)
            place["head"] = state.head
            if state.dirty and args["uncommitted"] == "refuse":
                return {**place, "refused": f"not committed: {_some(state)}"}
            yours = self._is_yours(args)
            agent = run.input.get("agent")
            place |= await (
                self._take_committed(args, state)
                if yours
                else self._commit(task, args, state, agent)
            )
            if not place["commits"] and "refused" not in place:
                place |= await self._without_commits(run, args)
            return place
        except RepositoryError as problem:
            prompt = await self._way_out(args, problem)
            return {**place, "refused": problem.message, "remediationPrompt": prompt}

    async def _settle_conflict(self, args: dict[str, Any]) -> dict[str, Any] | None:
        """Commit a conflict that the agent resolved in its files; what is left to do about it."""
        if self._is_yours(args):
            return None
        repository, largest = self._repository, _largest(args)
        if left := await conflict_effects.still_open(repository, args):
            return left
        if found := await repository.conflict_findings(args["worktree"], largest):
            return {**_found(found, args), "conflict": True}
        return await conflict_effects.close_conflict(repository, args)

    async def _conflict(self, run: Run, effect: JournalEffect, guard: Any) -> dict[str, Any]:
        return await conflict_effects.ACTS[effect.args["verb"]](self._repository, effect.args)

    async def _take_committed(self, args: dict[str, Any], state: RepositoryState) -> dict[str, Any]:
        """The work on a person's own branch: what is committed counts, the rest is only named."""
        commits = await self._repository.commits_ahead(args["worktree"], args["base"])
        left = {"uncommitted": list(state.dirty), "uncommittedCount": state.dirty_count}
        return {"commits": commits, "head": state.head, **left}

    async def _commit(
        self, task: Task, args: dict[str, Any], state: RepositoryState, agent: str | None
    ) -> dict[str, Any]:
        """The work in a task's worktree, all of it committed, unless something must not be."""
        repository, folder, largest = self._repository, args["worktree"], _largest(args)
        if state.dirty and (found := await repository.uncommitted_findings(folder, largest)):
            return _found(found, args)
        head = state.head
        if state.dirty:
            message = commit_message(task.goal, trailers_of(task.id, agent))
            done = await repository.commit_all(folder, message, branch=args["branch"])
            head = done or head
        commits = await repository.commits_ahead(folder, args["base"])
        if commits and (
            found := await repository.committed_findings(folder, args["base"], largest)
        ):
            return {**_found(found, args), "commits": commits, "head": head}
        return {"commits": commits, "head": head}

    async def _without_commits(self, run: Run, args: dict[str, Any]) -> dict[str, Any]:
        """What no commits mean: nothing was done, as it may be, or the work went elsewhere."""
        with self._around.store.read() as view:
            task, start = view.graph.task(args["taskId"]), start_of(view, args["taskId"])
            excused = is_excused(view, task)
        has_gates = task.type is not None and any(self._gates(run, task, each) for each in POINTS)
        wanted = "park" if has_gates and not excused else "complete"
        if self._is_yours(args):
            return {"withoutCommits": wanted}
        found = await self._repository.work_elsewhere(args["worktree"], args["base"], start)
        if found is None:
            return {"withoutCommits": wanted}
        return {"withoutCommits": wanted, "elsewhere": found.seen, "lost": found.lost}

    def _gates(self, run: Run, task: Task, point: str) -> list[Hook]:
        standing, agent = self._around.standing, run.input.get("agent")
        hooks = standing.hooks_at(point, agent=agent, task_type=task.type)
        return self._around.recorder.enabled(hooks)

    def _is_yours(self, args: dict[str, Any]) -> bool:
        """Whether the work is on a branch in a person's own checkout, and not in a worktree."""
        return os.path.realpath(str(args["worktree"])) == os.path.realpath(self._around.root)

    async def _way_out(self, args: dict[str, Any], problem: RepositoryError) -> str | None:
        """What an agent can do about a worktree in which nothing could be committed."""
        if self._is_yours(args):
            return None
        folder, branch = args["worktree"], args["branch"]
        state = await self._repository.describe(folder)
        if state.blocking is None and state.operation is not None:
            return unfinished_prompt(state.operation)
        if state.blocking is None and state.branch != branch:
            return astray_prompt(state, branch)
        if state.blocking is None and state.dirty:
            return (
                "Your work could not be committed. Fix what stands in the way. Do not bypass a hook"
                " of git with `--no-verify`.\n\n" + framed("What happened", problem.message)
            )
        return None

    # Merging

    async def _merge(self, run: Run, effect: JournalEffect, guard: Any) -> dict[str, Any]:
        for _ in range(MOVES):
            found = await self._merge_once(run, effect, guard)
            if found is not None:
                return found
        message = f"the base branch moved {MOVES} times while the result was tested"
        state = await self._repository.describe(effect.args["worktree"])
        return waits(message, "checks", MOVED_WAIT, state.head)

    async def _merge_once(
        self, run: Run, effect: JournalEffect, guard: Any
    ) -> dict[str, Any] | None:
        try:
            merged = await self._merged_there(run, effect.args)
            return merged or await self._build_and_land(run, effect, guard)
        except NotMergeable:
            return None  # it fitted on the base that was tested, so there is another one
        except (ForgeTemporary, MergeWaits) as problem:
            return await not_yet(self._repository, effect.args, problem)
        except (RepositoryError, ForgeError, HookFailure, Untrusted) as problem:
            return {"status": "refused", "message": problem.message}

    async def _ask_people(self, run: Run, effect: JournalEffect, guard: Any) -> dict[str, Any]:
        """Whether people have merged the work."""
        args = effect.args
        task, submitted = self._task(args["taskId"]), run.pins.get("submitted")
        asking = PeopleMerge(self._repository, self._forge, task, submitted)
        try:
            found = await asking.ask(args, await self._pull_request(args))
        except (ForgeTemporary, MergeWaits) as problem:
            found = await not_yet(self._repository, args, problem)
        except (RepositoryError, ForgeError) as problem:
            return {"status": "refused", "message": problem.message}
        return {"commits": None, **found}

    async def _merged_there(self, run: Run, args: dict[str, Any]) -> dict[str, Any] | None:
        """The merge that a forge has made of this very work: before a crash, or for a person."""
        pull = await self._pull_request(args) if self._forge.merges else None
        if pull is None or pull.state != "merged" or pull.merged_sha is None:
            return None
        head = str((await self._repository.describe(args["worktree"])).head)
        facts = MergeFacts(self._around, run, args)
        return _merged(pull.merged_sha, await facts.of_pull(pull, pull.merged_sha, head))

    async def _build_and_land(
        self, run: Run, effect: JournalEffect, guard: Any
    ) -> dict[str, Any] | None:
        args, repository = effect.args, self._repository
        task = self._task(args["taskId"])
        state = await repository.describe(args["worktree"])
        known = MergeFacts(self._around, run, args)
        if not known.is_judged(state.head):
            return _changed(state.head, args)
        if self._is_yours(args):
            await repository.check(args["worktree"], args["branch"])
            head = str(state.head)
        else:
            folder, branch = args["worktree"], args["branch"]
            rebased = await repository.rebase(folder, args["base"], branch=branch)
            if isinstance(rebased, RebaseConflict):
                return conflicting(args["base"], rebased.onto, rebased.files, is_yours=False)
            head = rebased.head
            if rebased.start != state.head or not rebased.same:
                return _changed(head, args)
            if args["method"] == "rebase" and self._forge.merges:
                # The forge takes the commits as they are, and makes none of its own.
                told = trailers_of(task.id, run.input.get("agent"))
                head = await repository.add_trailers(
                    folder, args["base"], told, branch=branch, head=head
                )
            if head != state.head:
                self._note(run, guard, REBASED, {"from": args.get("head"), "head": head})
        commits = await repository.commits_ahead(args["worktree"], args["base"])
        message = self._merge_message(run, task)
        prepared = await repository.prepare_merge(head, args["base"], message, args["method"])
        if isinstance(prepared, MergeConflict):
            yours = self._is_yours(args)
            return conflicting(args["base"], prepared.base_head, prepared.files, is_yours=yours)
        if prepared.merged:  # nothing is left to be tested, or to be counted
            facts = await known.of(prepared.head, prepared.sha)
            return await self._land(run, task, prepared, args, facts)
        if unfit := await unfit_result(self._around, prepared):
            return {**unfit, "head": head}
        key = self._executor.test_key(run, effect)
        tests = MergedTests(self._around, run, task, prepared, key)

        def note(trees: dict[str, Any]) -> None:
            self._note(run, guard, TREES, trees)

        tested, changed = await self._control.watch_tests(
            run, guard, lambda: tests.run_once(args["test"], note)
        )
        if changed:
            why = control_told(changed, "while the merged result was tested")
            return {"status": "refused", "message": why}
        if tested.failure is not None:
            failed, command = tested.failure, tested.failure.context.get("command")
            how = {"remediationPrompt": failed.remediation_prompt, "command": command}
            return {"status": "failed", "message": failed.message, **how}
        facts = {"testedBy": tested.by, "untested": tested.untested}
        tree = await repository.tree_of(prepared.sha)
        self._note(run, guard, TESTED, {**facts, "head": prepared.head, "tree": tree})
        return await self._land(run, task, prepared, args, {**facts, "commits": commits})

    def _merge_message(self, run: Run, task: Task) -> str:
        with self._around.store.read() as view:
            found = overrides(view, task.id)
        passed_by = (f"Gate-Override: {each.line}" for each in found)
        return commit_message(
            task.goal, [*trailers_of(task.id, run.input.get("agent")), *passed_by]
        )

    def _note(self, run: Run, guard: Any, name: str, facts: dict[str, Any]) -> None:
        """Store what nothing else tells after a kill, before the base moves."""

        def note(tx: Transaction) -> None:
            guard(tx)
            tx.runs.set_value(run.run_id, name, facts)

        self._around.change(note)

    async def _land(
        self,
        run: Run,
        task: Task,
        prepared: Prepared,
        args: dict[str, Any],
        facts: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Move the base; None if it moved meanwhile."""
        forge, side = self._forge, ForgeMerge(self._around, run, task, args)
        pull = await self._pull_request(args)
        if not prepared.merged:
            if (found := await side.hindrance(prepared, pull)) is not None:
                return found
            if pull is not None and forge.merges:
                done = await side.merge(prepared, pull, self._merge_message(run, task))
                return {**_merged(done.sha, facts), **await side.facts(run, prepared, pull, done)}
        landed = await self._repository.land(prepared)
        if isinstance(landed, BaseMoved):
            return None
        if isinstance(landed, Refused):
            return refused_by_git(landed)
        if pull is not None and not forge.merges:
            await forge.merge(pull, landed.sha, args["method"])
        return {**_merged(landed.sha, facts), "notices": list(landed.notices)}

    async def _pull_request(self, args: dict[str, Any]) -> PullRequest | None:
        if args["skipPr"]:
            return None
        if args.get("pullRequest") is not None:
            pull = await self._forge.pull_request(int(args["pullRequest"]))
            refuse_other_base(pull, args["base"])
            return pull
        return await self._forge.find_pull_request(args["branch"], args["base"])

    async def _clean(self, run: Run, effect: JournalEffect, guard: Any) -> dict[str, Any]:
        try:
            at_remote = await self._remove_pushed(effect.args)
            kept = await self._repository.clean(effect.args["taskId"])
        except RepositoryError as problem:
            return {"kept": [problem.message]}
        found = {"kept": list(kept.unsaved)} if isinstance(kept, Kept) else {"removed": True}
        return {**found, **at_remote}

    async def _remove_pushed(self, args: dict[str, Any]) -> dict[str, Any]:
        """Remove the task's branch from the remote; a person's own branch stays."""
        remote = self._forge.push_remote
        if not args.get("removePushed") or remote is None or self._is_yours(args):
            return {}
        left = await self._repository.remove_pushed(args["branch"], remote)
        return {} if left is None else {"remoteBranch": left}

    async def _checks(self, run: Run, effect: JournalEffect, guard: Any) -> dict[str, Any]:
        """What will check the work of a session."""
        return await ChecksAhead(self._around, run).find()

    # What they share

    @property
    def _repository(self) -> Repository:
        assert self._around.repository is not None
        return self._around.repository

    @property
    def _forge(self) -> Forge:
        assert self._around.forge is not None
        return self._around.forge()

    def _task(self, identifier: str) -> Task:
        with self._around.store.read() as view:
            return view.graph.task(identifier)


def _some(state: RepositoryState) -> str:
    named = state.dirty[:NAMED]
    left = state.dirty_count - len(named)
    return ", ".join(named) + f" and {left} more" * (left > 0)


def _found(found: tuple[Finding, ...], args: dict[str, Any]) -> dict[str, Any]:
    largest = _largest(args)
    return {
        "refused": findings.reason(found, largest),
        "remediationPrompt": findings.prompt(found, largest, args["base"]),
    }


def _largest(args: dict[str, Any]) -> int:
    return int(args.get("maxFile", MAX_FILE))  # an effect that an older Hookline asked for has none


def _changed(head: str | None, args: dict[str, Any]) -> dict[str, Any]:
    message = f"{head} was not judged: it came when {args['head']} had passed"
    return {"status": "changed", "message": message}


def _merged(sha: str, facts: dict[str, Any]) -> dict[str, Any]:
    return {"status": "merged", "sha": sha, "commits": None, **facts}

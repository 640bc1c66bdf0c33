"""`hookline task`: taking tasks, working on them, and saying what became of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hookline.domain.tasks import NO_CHANGES
from hookline.domain.timestamps import duration
from hookline.domain.timestamps import parse as parse_moment
from hookline.errors import BadInput
from hookline.surfaces.cli.command import Command, task_argument
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, next_step, paint, untrusted, warn
from hookline.surfaces.cli.tasks.show import task_line
from hookline.surfaces.cli.values import parse_json
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.tasks import Task


# claiming


def _next_arguments(p: ArgumentParser) -> None:
    p.add_argument("--claim", action="store_true", help="claim it too")
    _claim_options(p)


def _next(args: Namespace) -> None:
    from hookline.operations import claims  # `task add` does without

    if args.claim:
        with writing() as app:
            who = claims.claimer(app, args.agent)
            _answer_claim(args, claims.claim_next(app, who, duration(args.lease)))
        return
    with reading() as app:
        best = claims.best_ready(app, claims.claimer(app, args.agent))
    answer_task(args, best, "")
    next_step(f"hookline task claim {best.id}")


def _claim_options(p: ArgumentParser) -> None:
    p.add_argument("--agent", metavar="NAME", help="who claims it (default: you)")
    p.add_argument(
        "--lease", default="15m", metavar="TIME", help="how long the claim lasts (default 15m)"
    )


def _claim_arguments(p: ArgumentParser) -> None:
    task_argument(p, "id")
    _claim_options(p)
    p.add_argument("--renew", action="store_true", help="renew your claim")
    p.add_argument("--token", type=int, metavar="N", help="with --renew: the claim's token")


def _claim(args: Namespace) -> None:
    from hookline.operations import claims  # `task add` does without

    with writing() as app:
        if args.renew:
            token = args.token if args.token is not None else app.origin.holder.token
            if token is None:
                raise BadInput("--renew needs --token N")
            task = claims.renew(app, args.id, token, duration(args.lease))
        else:
            who = claims.claimer(app, args.agent)
            task = claims.claim(app, args.id, who, duration(args.lease))
        _answer_claim(args, task)


def _answer_claim(args: Namespace, task: Task) -> None:
    claim = task.claim
    assert claim is not None  # it was just made
    held = f"claimed by {claim.agent} until {claim.lease_until}, token {claim.token}"
    answer_task(args, task, held)
    next_step(f"hookline task start {task.id} --token {claim.token}")


def _reason_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--reason", metavar="R", help="why")


def _release(args: Namespace) -> None:
    _change(args, "release", "released", reason=args.reason)


# working


def _start_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--context", metavar="JSON", help="data to record with the start")
    p.add_argument("--at", metavar="TIME", help="when it began, if not now")


def _start(args: Namespace) -> None:
    context = parse_json(args.context, "--context") if args.context else {}
    then = "hookline task complete {} --result TEXT"
    _change(args, "start", "started", then, context=context, at=_moment(args))


def _complete_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--result", metavar="TEXT", help="the result")
    p.add_argument("--artifact", action="append", default=[], metavar="A", help="repeatable")
    p.add_argument("--at", metavar="TIME", help="when it was done, if not now")
    help = "complete it without its type's gates"
    p.add_argument("--without-gates", action="store_true", help=help)


def _complete(args: Namespace) -> None:
    from hookline.operations import tasks  # `task add` does without

    with writing() as app:
        task, how = tasks.complete(
            app,
            args.id,
            tasks.writer(app, args.token),
            result=args.result,
            artifacts=args.artifact,
            at=_moment(args),
            without_gates=args.without_gates,
        )
        if how == tasks.PROMISED:
            text = f"{task.id}: recorded as a promise; stop hooks decide when your turn ends"
            answer(args, task, text)
            return
        answer_task(args, task, f"{how}: its gates decide" if how == tasks.SUBMITTED else how)
        next_step(f"hookline submit {task.id}" if how == tasks.SUBMITTED else "hookline task ready")


def _block_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--reason", required=True, metavar="R", help="what blocks it")
    help = "what someone needs to find out; repeatable"
    p.add_argument("--required-knowledge", action="append", default=[], metavar="K", help=help)


def _block(args: Namespace) -> None:
    given = {"reason": args.reason, "required_knowledge": args.required_knowledge}
    then = "hookline task unblock {}"
    _change(args, "block", "blocked", then, **given)


def _unblock(args: Namespace) -> None:
    _change(args, "unblock", "unblocked")


def _update_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--goal", metavar="TEXT", help="the new goal")
    p.add_argument("--label", action="append", metavar="L", help="repeatable; replaces all labels")
    p.add_argument("--deliverable", action="append", metavar="D", help="repeatable; replaces all")
    p.add_argument("--priority", type=int, metavar="N", help="the new priority")
    p.add_argument("--type", metavar="T", help="the new type")
    p.add_argument("--note", metavar="TEXT", help="add a note")
    changes_argument(p)


def _update(args: Namespace) -> None:
    from hookline.operations import tasks  # `task add` does without

    given = {
        "goal": args.goal,
        "labels": args.label,
        "desiredDeliverables": args.deliverable,
        "priority": args.priority,
        "type": args.type,
        "note": args.note,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if args.changes is not None:
        changes["changes"] = given_changes(args, "task update")
    with writing() as app:
        task = tasks.update(app, args.id, changes, tasks.writer(app, args.token))
        answer_task(args, task, "updated")
        warn_of_type(app, *([task] if args.type else ()))


def _cancel(args: Namespace) -> None:
    _change(args, "cancel", "cancelled", reason=args.reason)


def _fail_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--error", metavar="TEXT", help="what went wrong")


def _fail(args: Namespace) -> None:
    _change(args, "fail", "failed", error=args.error)


def _delete(args: Namespace) -> None:
    from hookline.operations import tasks  # `task add` does without

    with writing() as app:
        identifier, edges = tasks.delete(app, args.id, tasks.writer(app, args.token))
        deleted = {"id": identifier, "edgesRemoved": edges}
        answer(args, deleted, f"{identifier} deleted, {edges} edges removed")


# shared


def _change(args: Namespace, verb: str, told: str, then: str = "", **given: Any) -> None:
    """Carry out a verb on a task that someone may hold; `then` is what to type next."""
    from hookline.operations import tasks  # `task add` does without

    with writing() as app:
        task = tasks.change(app, args.id, verb, tasks.writer(app, args.token), **given)
        answer_task(args, task, told)
        if then:
            next_step(then.format(task.id))


def warn_of_type(app: App, *found: Task) -> None:
    """Tell a person about each type that is not configured although others are."""
    for kind in dict.fromkeys(task.type for task in found):
        if problem := app.types.unknown(kind):
            warn(untrusted(problem, 300))


def changes_argument(p: ArgumentParser) -> None:
    """Whether a task changes files: a person can say that it does not."""
    help = "none: no commits are expected, as for a review"
    p.add_argument("--changes", choices=("any", NO_CHANGES), help=help)


def given_changes(args: Namespace, command: str) -> str | None:
    """What a person said about the changes of a task; agents do not excuse themselves."""
    if args.changes is None:
        return None
    refuse_agents(os.environ, f"{command} --changes")
    return NO_CHANGES if args.changes == NO_CHANGES else None


def _held_one(p: ArgumentParser) -> None:
    task_argument(p, "id")
    p.add_argument("--token", type=int, metavar="N", help="your claim's token")


def _moment(args: Namespace) -> str | None:
    return parse_moment(args.at) if args.at else None


def answer_task(args: Namespace, task: Task, what: str) -> None:
    """Tell what became of a task."""
    answer(args, task, task_line(task) + (paint(f"  {untrusted(what)}", "dim") if what else ""))


WORK_COMMANDS = {
    "next": Command("show the best ready task; --claim takes it", _next_arguments, _next),
    "claim": Command("claim a task, with a lease and a token", _claim_arguments, _claim),
    "release": Command("release a task", _reason_arguments, _release),
    "start": Command("start work on a task", _start_arguments, _start),
    "complete": Command("complete a task", _complete_arguments, _complete),
    "block": Command("block a task, with a reason", _block_arguments, _block),
    "unblock": Command("unblock a task", _held_one, _unblock),
    "update": Command("change a task's fields or add a note", _update_arguments, _update),
    "fail": Command("mark a task as failed", _fail_arguments, _fail),
    "cancel": Command("cancel a task", _reason_arguments, _cancel),
    "delete": Command("delete a task and its edges", _held_one, _delete),
}

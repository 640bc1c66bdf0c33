"""`hookline task`: taking tasks, working on them, and saying what became of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.domain.moments import parse as parse_moment
from hookline.domain.tasks import NO_CHANGES, task_number
from hookline.errors import BadInput
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import next_step, paint, say, say_json, untrusted
from hookline.surfaces.cli.show import task_line
from hookline.surfaces.cli.task_writer import has_gates, warn_of_type, writer
from hookline.surfaces.cli.values import duration, parse_json
from hookline.tasks import claims, verbs
from hookline.trust import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from hookline.app import App, SessionPlace
    from hookline.domain.tasks import Task


# claiming


def _next_arguments(p: ArgumentParser) -> None:
    p.add_argument("--claim", action="store_true", help="take it at once")
    _claim_options(p)


def _next(args: Namespace) -> None:
    if args.claim:
        with writing() as app:
            agent, lease = _agent(app, args), duration(args.lease)
            task = app.change(claims.claim_next, agent, lease, allowed=_allowed(app, args))
            _answer_claim(args, task)
        return
    with reading() as app, app.read() as view:
        allowed = _allowed(app, args)
        best = claims.best_ready(view.graph, app.store.now(), _agent(app, args), allowed)
    answer(args, best, "")
    next_step(f"hookline task claim {best.id}")


def _claim_options(p: ArgumentParser) -> None:
    p.add_argument("--agent", metavar="NAME", help="who takes it (default: you)")
    p.add_argument("--lease", default="15m", metavar="TIME", help="how long (default 15m)")


def _claim_arguments(p: ArgumentParser) -> None:
    one_task(p)
    _claim_options(p)
    p.add_argument("--renew", action="store_true", help="hold a claim of yours for longer")
    p.add_argument("--token", type=int, metavar="N", help="with --renew: the claim's token")


def _claim(args: Namespace) -> None:
    with writing() as app:
        if args.renew:
            token = args.token if args.token is not None else app.holder.token
            if token is None:
                raise BadInput("which claim? --renew needs --token N")
            app.change(claims.renew, args.id, token, duration(args.lease))
        else:
            agent, lease = _agent(app, args), duration(args.lease)
            app.change(claims.claim, args.id, agent, lease, allowed=_allowed(app, args))
        with app.read() as view:
            _answer_claim(args, view.graph.task(args.id))


def _answer_claim(args: Namespace, task: Task) -> None:
    claim = task.claim
    assert claim is not None  # it was just made
    answer(args, task, f"claimed by {claim.agent} until {claim.lease_until}, token {claim.token}")
    next_step(f"hookline task start {task.id} --token {claim.token}")


def _release_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--reason", metavar="R", help="why")


def _release(args: Namespace) -> None:
    with writing() as app:
        holder = writer(app, args, "release")
        answer(
            args,
            app.change(claims.release, args.id, reason=args.reason, holder=holder),
            "released",
        )


# working


def _start_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--context", metavar="JSON", help="whatever should be known about the start")
    p.add_argument("--at", metavar="TIME", help="when it began, if not now")


def _start(args: Namespace) -> None:
    context = parse_json(args.context, "--context") if args.context else {}
    with writing() as app:
        task = app.change(
            verbs.start,
            args.id,
            context=context,
            at=_moment(args),
            holder=writer(app, args, "start"),
        )
        answer(args, task, "started")
        next_step(f"hookline task complete {task.id} --result TEXT")


def _complete_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--result", metavar="TEXT", help="what came out of it")
    p.add_argument("--artifact", action="append", default=[], metavar="A", help="repeatable")
    p.add_argument("--at", metavar="TIME", help="when it was done, if not now")
    p.add_argument(
        "--without-gates", action="store_true", help="done, whatever its type's gates would say"
    )


def _complete(args: Namespace) -> None:
    with writing() as app:
        place = app.session
        if place is not None and task_number(args.id) == task_number(place.task_id):
            _promise(args, app, place)
            return
        holder = writer(app, args, "complete")
        if args.without_gates:
            refuse_agents(app.environ, "task complete --without-gates")
        elif has_gates(app, args.id):
            task = app.change(verbs.submit, args.id, result=args.result, holder=holder)
            answer(args, task, "submitted: its gates decide")
            next_step(f"hookline submit {task.id}")
            return
        task = app.change(
            verbs.complete,
            args.id,
            result=args.result,
            artifacts=args.artifact,
            at=_moment(args),
            holder=holder,
        )
        answer(args, task, "completed")
        next_step("hookline task ready")


def _promise(args: Namespace, app: App, place: SessionPlace) -> None:
    """An agent says that its session's own task is done; whether it is, the session decides."""
    from hookline.tasks.promises import promise_done  # only agents come here

    app.change(promise_done, place.run_id, place.task_id, args.result)
    with app.read() as view:
        task = view.graph.task(place.task_id)
    if args.json:
        say_json(task)
        return
    say(f"{task.id}: noted as a promise; its stop hooks decide when your turn is over")


def _block_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--reason", required=True, metavar="R", help="what stands in the way")
    p.add_argument(
        "--required-knowledge", action="append", default=[], metavar="K", help="what is missing"
    )


def _block(args: Namespace) -> None:
    with writing() as app:
        task = app.change(
            verbs.block,
            args.id,
            reason=args.reason,
            required_knowledge=args.required_knowledge,
            holder=writer(app, args, "block", own=True),
        )
        answer(args, task, "blocked")
        next_step(f"hookline task unblock {task.id}")


def _unblock(args: Namespace) -> None:
    with writing() as app:
        task = app.change(verbs.unblock, args.id, holder=writer(app, args, "unblock"))
        answer(args, task, "unblocked")


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
        holder = writer(app, args, "change", changes)
        task = app.change(verbs.update, args.id, changes, holder=holder, types=app.types)
        answer(args, task, "updated")
        warn_of_type(args, app, *([task] if args.type else ()))


def _cancel_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--reason", metavar="R", help="why")


def _cancel(args: Namespace) -> None:
    with writing() as app:
        holder = writer(app, args, "cancel")
        task = app.change(verbs.cancel, args.id, reason=args.reason, holder=holder)
        answer(args, task, "cancelled")


def _fail_arguments(p: ArgumentParser) -> None:
    _held_one(p)
    p.add_argument("--error", metavar="TEXT", help="what went wrong")


def _fail(args: Namespace) -> None:
    with writing() as app:
        task = app.change(verbs.fail, args.id, error=args.error, holder=writer(app, args, "fail"))
        answer(args, task, "failed")


def _delete(args: Namespace) -> None:
    with writing() as app:
        with app.read() as view:
            identifier = view.graph.task(args.id).id
        edges = app.change(verbs.delete, identifier, holder=writer(app, args, "delete"))
        if args.json:
            say_json({"id": identifier, "edgesRemoved": edges})
        else:
            say(f"{identifier} deleted, {edges} edges removed")


# shared


def changes_argument(p: ArgumentParser) -> None:
    """Whether a task changes files: a person can say that it does not."""
    p.add_argument(
        "--changes",
        choices=("any", NO_CHANGES),
        help="none: no commits are expected, as of a review",
    )


def given_changes(args: Namespace, command: str) -> str | None:
    """What a person said about the changes of a task; agents do not excuse themselves."""
    if args.changes is None:
        return None
    refuse_agents(os.environ, f"{command} --changes")
    return NO_CHANGES if args.changes == NO_CHANGES else None


def one_task(p: ArgumentParser) -> None:
    """The task that a command is about."""
    p.add_argument("id", help="the task, such as T-12")


def _held_one(p: ArgumentParser) -> None:
    one_task(p)
    _token(p)


def _token(p: ArgumentParser) -> None:
    p.add_argument("--token", type=int, metavar="N", help="your claim's token")


def _agent(app: App, args: Namespace) -> str:
    own = str(app.metadata()["triggeredBy"])
    if args.agent not in (None, own):
        # Whose work it is decides which gates judge it, and who may be its gatekeeper.
        refuse_agents(app.environ, "task claim --agent of somebody else")
    return str(args.agent or own)


def _allowed(app: App, args: Namespace) -> Callable[[str, str | None], bool]:
    """Types of tasks name the agents that may take them; people may take any."""
    if not args.agent and not app.environ.get("HOOKLINE_AGENT"):
        return claims.open_to_all
    from hookline.config.claiming import claim_rule  # only agents need it

    return claim_rule(app.settings)


def _moment(args: Namespace) -> str | None:
    return parse_moment(args.at) if args.at else None


def answer(args: Namespace, task: Task, what: str) -> None:
    """Tell what became of a task."""
    if args.json:
        say_json(task)
    else:
        say(task_line(task) + (paint(f"  {untrusted(what)}", "dim") if what else ""))


WORK_COMMANDS = {
    "next": Command("the best ready task; --claim takes it", _next_arguments, _next),
    "claim": Command("take a task, with a lease and a token", _claim_arguments, _claim),
    "release": Command("give a task back", _release_arguments, _release),
    "start": Command("begin to work on a task", _start_arguments, _start),
    "complete": Command("say that a task is done", _complete_arguments, _complete),
    "block": Command("say that a task cannot go on, and why", _block_arguments, _block),
    "unblock": Command("let a blocked task go on", _held_one, _unblock),
    "update": Command("change a task's fields or add a note", _update_arguments, _update),
    "fail": Command("give a task up because of an error", _fail_arguments, _fail),
    "cancel": Command("say that nobody wants a task any more", _cancel_arguments, _cancel),
    "delete": Command("remove a task and its edges", _held_one, _delete),
}

"""`hookline session report`: a session's whole story as one HTML file, from the store alone."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline import __version__
from hookline.adapters.blobs import FileBlobs
from hookline.domain.moments import seconds
from hookline.errors import BadInput
from hookline.files import own_folder, publish
from hookline.flows.judgements import judgements
from hookline.flows.session_verbs import tasks_below
from hookline.flows.spending import cost_of, turns_of
from hookline.hooks.names import short_name
from hookline.hooks.overrides import OVERRIDDEN, of_event
from hookline.surfaces.cli import report_html as page
from hookline.surfaces.cli.cost_show import unfinished_text, who
from hookline.surfaces.cli.gate_show import review_lines
from hookline.surfaces.cli.live_lines import money
from hookline.surfaces.cli.live_text import took
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import say, say_json
from hookline.surfaces.cli.report_data import chapters, receipts
from hookline.surfaces.cli.session_arguments import session_argument
from hookline.surfaces.cli.session_facts import countdown, facts, find, last_ending, spent

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator

    from hookline.adapters.store.sqlite import View
    from hookline.app import App
    from hookline.domain.runs import Run
    from hookline.domain.tasks import Task
    from hookline.flows.spending import Cost


# Events of a session that is at work, and those that end that for a while.
WORKS = ("point_fired", "session_iteration", "session_iteration_ended", "session_resumed")
RESTS = ("session_ended", "session_paused", "session_waits")


def report_arguments(p: ArgumentParser) -> None:
    """What `session report` takes."""
    session_argument(p)
    p.add_argument(
        "-o", "--output", metavar="FILE", help="where to; `-` is stdout (default .hookline/reports)"
    )


def report(args: Namespace) -> None:
    """Write a session's report."""
    with reading() as app, app.read() as view:
        run = find(view, args.name)
        parts = _page(app, view, run)
        if args.output == "-":
            for part in parts:
                sys.stdout.buffer.write(part.encode("utf-8", "replace"))
            return
        try:
            path = _write(args.output, parts) if args.output else _publish(app, run, parts)
        except OSError as problem:
            raise BadInput(f"cannot write the report: {problem}") from problem
    if args.json:
        say_json({"runId": run.run_id, "file": os.path.abspath(path)})
    else:
        say(os.path.relpath(path))


def _publish(app: App, run: Run, parts: Iterable[str]) -> str:
    """Write the file where reports are kept, whole or not at all; its path."""
    name = f"{run.run_id}.html"
    with own_folder(app.project.folder, "reports") as folder:
        publish(folder, name, "".join(parts).encode("utf-8", "replace"))
    return os.path.join(app.project.folder, "reports", name)


def _write(path: str, parts: Iterable[str]) -> str:
    """Write the file that the user names, whole or not at all; its path."""
    whole = "".join(parts)
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(temporary, "w", encoding="utf-8", errors="replace") as file:
            file.write(whole)
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return path


def _page(app: App, view: View, run: Run) -> Iterator[str]:
    yield page.head(f"{run.input['name']} · Hookline")
    yield from _summary(view, run)
    story: list[str] = []
    proofs: list[dict[str, Any]] = []
    for chapter in chapters(view, run, FileBlobs(app.project.blobs)):
        story.append(page.chapter_html(chapter))
        proofs += receipts(chapter)
    for receipt in proofs[-1:]:
        yield "<h2>Proof</h2>\n"
        yield from page.receipt_html(receipt)
    yield "<h2>Iterations</h2>\n"
    yield from story
    yield from _tasks(view, run)
    yield from _costs(view, run)
    yield from _gates(app, view, run)
    yield from _overridden(view, run)
    yield from _notes(view, run)
    yield from _held(view, run)
    moment = page.text(app.store.now())
    yield f"<footer><p>Hookline {page.text(__version__)}, {moment}</p></footer>\n"
    yield page.FOOT


def _summary(view: View, run: Run) -> Iterator[str]:
    known, ended = facts(view, run), last_ending(view, run.run_id) or {}
    usd, tokens = spent(view, run.run_id)
    yield f"<header>\n<h1>{page.text(known.name)} {page.badge(known.status)}</h1>\n"
    yield f"<p>{page.text(known.goal)}</p>\n"
    yield page.pairs(
        (
            ("why", known.reason or ended.get("message")),
            ("run", known.run_id),
            ("task", known.task_id),
            ("agent", known.agent),
            ("started", known.created_at),
            ("took", _took(view, run)),
            ("iterations", ended.get("iterations", known.iteration)),
            ("money", money(usd) if usd else None),
            ("tokens", f"{tokens:,}" if tokens else None),
        )
    )
    yield "</header>\n"
    counted = countdown(view, run.run_id)
    if counted:
        yield "<h2>Limits</h2>\n"
        rows = [
            (each["name"].replace("_", " "), f"{each['used']:g}", f"{each['allowed']:g}")
            for each in counted
        ]
        yield page.table(("limit", "used", "of"), rows)


def _took(view: View, run: Run) -> str | None:
    """How long it was at work, from its first step on; the time that it rested does not count."""
    spent, since, last = 0.0, None, None
    for event in view.log.events(node_id=run.run_id, types=(*WORKS, *RESTS)):
        last = seconds(event.timestamp)
        if event.type in RESTS:
            spent += last - since if since is not None else 0.0
            since = None
        elif since is None:
            since = last
    if last is None:
        return None
    return took(spent + (last - since if since is not None else 0.0))


def _tasks(view: View, run: Run) -> Iterator[str]:
    own = view.graph.find(run.input["taskId"])
    found: list[Task] = [
        *([own] if own is not None else []),
        *tasks_below(view, run.input["taskId"]),
    ]
    if found:
        yield "<h2>Tasks</h2>\n"
        rows = [(t.id, t.state, t.goal, t.result or t.block_reason or "") for t in found]
        yield page.table(("task", "state", "goal", "result"), rows)


def _costs(view: View, run: Run) -> Iterator[str]:
    """What the session's task cost, whoever worked on it or judged it."""
    cost = cost_of(turns_of(view, run.input["taskId"]))
    if not cost.turns:
        return
    yield f"<h2>What {page.text(run.input['taskId'])} cost</h2>\n"
    named = [(each.role, who(each), each) for each in cost.roles]
    rows = [
        (
            *(role, agent, f"{each.turns}{unfinished_text(each)}", took(each.seconds)),
            *(_tokens(each, count) for count in (each.input_tokens, each.output_tokens)),
            money(each.usd) if each.usd is not None else "",
        )
        for role, agent, each in (*named, ("all", "", cost))
    ]
    yield page.table(("role", "agent", "turns", "time", "tokens in", "tokens out", "money"), rows)


def _tokens(cost: Cost, count: int) -> str:
    """A number of tokens; nothing where the agents told none."""
    return f"{count:,}" if cost.tokens else ""


def _gates(app: App, view: View, run: Run) -> Iterator[str]:
    """What gates, reviewers and merges said about the work, and what its author answered."""
    found = judgements(view, run.input["taskId"], FileBlobs(app.project.blobs))
    if not found:
        return
    yield f"<h2>Gates of {page.text(run.input['taskId'])}</h2>\n"
    rows = [
        (
            *(verdict.started_at or "", verdict.point, short_name(verdict.hook or "")),
            *(verdict.status, "\n".join([verdict.message, *review_lines(each)])),
        )
        for each in found
        for verdict in (each.verdict,)
    ]
    yield page.table(("when", "point", "gate", "verdict", "what was said"), rows)


def _overridden(view: View, run: Run) -> Iterator[str]:
    events = view.log.events(node_id=run.input["taskId"], types=(OVERRIDDEN,))
    if events:
        yield "<h2>Overridden gates</h2>\n"
        found = [(event.timestamp, of_event(event)) for event in events]
        rows = [(at, each.point, short_name(each.hook), each.by, each.reason) for at, each in found]
        yield page.table(("when", "point", "gate", "by", "why"), rows)


def _notes(view: View, run: Run) -> Iterator[str]:
    own = {run.input["taskId"], *(task.id for task in tasks_below(view, run.input["taskId"]))}
    found = [
        (event.timestamp, event.data["kind"], event.data["text"])
        for event in view.log.events(types=("note_added",))
        if event.node_id in own or event.metadata.get("run") == run.run_id
    ]
    if found:
        yield "<h2>Notes</h2>\n"
        yield page.table(("when", "kind", "note"), found)


def _held(view: View, run: Run) -> Iterator[str]:
    found = view.sessions.held(run.run_id)
    if found:
        yield "<h2>Held for the agent</h2>\n"
        for each in found:
            yield page.folded(f"{each.point}: {each.hook}", each.text)

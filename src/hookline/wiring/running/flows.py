"""The flows of a project: found, admitted and started. Advancing them is the engine's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.events import RUN_ENDS, Event
from hookline.domain.runs.model import COMPLETED, Caller, JournalEffect, Run, UnknownFlow
from hookline.errors import ConfigError, UnknownWorkflow, Untrusted
from hookline.flows import journal
from hookline.flows.called_runs import resolve_caller
from hookline.flows.definitions.finder import FlowDefinition, FlowFinder, Known
from hookline.flows.journal import resolve_task
from hookline.pipeline.own_flows import OWN_FLOWS, own_flows
from hookline.pipeline.pinned_lines import lines_of, pinned_lines
from hookline.project import user_folder
from hookline.trust.flows import TypedFlows
from hookline.trust.named_lines import NamedLines
from hookline.trust.people import under_agent
from hookline.wiring.project.stores import is_here
from hookline.wiring.project.trusting import watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.app import App
    from hookline.ports.store import Transaction


def flow_finder(app: App) -> FlowFinder:
    """Where the flows of a project are found."""
    verify, lines = watcher(app), _named_lines(app)
    return FlowFinder(
        app.project.root,
        app.project.folder,
        app.sections.flows,
        allowed=lambda: _allowed(app, verify),
        admit=lambda run_id, name: _refuse_unnamed(app, run_id, name),
        own=flows_of_ours(app),
        learn=lambda found: lines.remember(pinned_lines(found.pins)) if lines is not None else None,
    )


def voucher(app: App) -> Callable[[Run, FlowDefinition, list[JournalEffect]], None]:
    """Refuses the lines that a store on a server brings, and no configuration here has named."""
    lines = _named_lines(app)

    def vouch(run: Run, flow: FlowDefinition, pending: list[JournalEffect]) -> None:
        brought = pinned_lines(run.pins)
        for effect in pending:
            brought |= lines_of(effect)
        if lines is not None and (unknown := lines.unnamed(brought)):
            raise Untrusted(
                f"{unknown[0]} of {run.run_id} is not from a configuration that was used here",
                help="continue it where it began, or trust the same configuration here;"
                f" `hookline flow cancel {run.run_id}` gives it up",
            )

    return vouch


def _named_lines(app: App) -> NamedLines | None:
    """What was named here; a store in `.hookline/` is this user's own, and brings nothing."""
    if is_here(app.store):
        return None
    return NamedLines(user_folder(app.environ), app.project.folder, app.store.id)


def find_typed(app: App, name: str) -> FlowDefinition:
    """The flow that someone typed; an agent's input counts no more than a name in the store."""
    finder = flow_finder(app)
    if finder.is_module(name) and under_agent(app.environ):
        _refuse_unnamed(app, "", name)
    return finder.find(name)


def remember_typed(app: App, run_id: str, name: str) -> None:
    """Record that a person started this run: its flow may be imported from a module."""
    if flow_finder(app).is_module(name) and not under_agent(app.environ):
        _typed_flows(app).remember(run_id, name)


def renew_typed(app: App, run: Run) -> None:
    """Record that a person resumes a run that they started, with its module as it is now."""
    if _typed_flows(app).word(run.run_id, run.flow) == "changed":
        remember_typed(app, run.run_id, run.flow)


def _typed_flows(app: App) -> TypedFlows:
    return TypedFlows(user_folder(app.environ), app.project, app.store.id)


def _refuse_unnamed(app: App, run_id: str, name: str) -> None:
    typed, trust = _typed_flows(app), app.trust
    if trust is not None and trust.verdict.trusted:
        covered = [entry.path for entry in trust.manifest.entries]
        if typed.is_covered(name, None if trust.verdict.always else covered):
            return
    word = typed.word(run_id, name)
    if word == "changed":
        help = f"look at it, then run `hookline flow resume {run_id}`"
        raise Untrusted(f"the module of '{name}' changed since you started {run_id}", help=help)
    if word == "none":
        raise Untrusted(
            f"'{name}' is not imported: neither trusted files nor a person named it",
            help=f"look at the module, then start it yourself: `hookline flow start {name}`",
        )


def flows_of_ours(app: App) -> Mapping[str, Callable[[], FlowDefinition]]:
    sections = app.settings.sections if app.settings is not None else None
    return own_flows(sections, app.scopes, app.project.root)


def start_flow(app: App, tx: Transaction, name: str, context: Mapping[str, Any]) -> str:
    """A new run inside a transaction; a process that serves flows will advance it."""
    known = _known(app, name)
    if known is None:
        raise UnknownWorkflow(
            f"there is no workflow '{name}'", help="`hookline flow list` shows them all"
        )
    return journal.start(tx, name, context, {}, code_digest=known.digest, pins=known.pins)


def call_flow(
    app: App,
    tx: Transaction,
    name: str,
    given: dict[str, Any],
    metadata: Mapping[str, Any],
    caller: Caller,
) -> str:
    """A new run that an effect of another run calls."""
    known = _known(app, name)
    if known is None:
        raise UnknownFlow(f"there is no flow '{name}'")
    digest, pins = known
    return journal.start(tx, name, given, metadata, code_digest=digest, pins=pins, caller=caller)


def _known(app: App, name: str) -> Known | None:
    """What a new run needs to know about a flow that a hook or a flow names, not a person."""
    finder = flow_finder(app)
    if finder.is_module(name):
        _refuse_unnamed(app, "", name)
    return finder.known(name)


def _allowed(app: App, verify: Callable[[], None]) -> None:
    if app.settings is not None and app.settings.has_errors:
        raise ConfigError
    app.refuse_untrusted()
    verify()


def go_on_after(app: App, tx: Transaction, event: Event) -> None:
    """After the end of a task or a run, resolve what waits for it, in the same transaction.

    What a failed or cancelled run leaves behind is cleaned up.
    """
    if event.type not in RUN_ENDS:
        resolve_task(tx, event)
        return
    run, why = tx.runs.find(event.node_id), event.data.get("reason") or event.data.get("error")
    if run.status != COMPLETED:
        OWN_FLOWS.of(run).break_off(tx, run, run.status, str(why))
    resolve_caller(tx, run, app.blobs)

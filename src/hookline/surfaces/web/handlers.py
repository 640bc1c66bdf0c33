"""What each address of the API does: one call of `queries` or `operations`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hookline.queries.page import (
    changes,
    events,
    graph,
    hooks,
    iteration,
    pipeline,
    project,
    runs,
    search,
    sessions,
    tasks,
    waiting,
)
from hookline.surfaces.web import given as g
from hookline.surfaces.web.asked import names
from hookline.surfaces.web.figures import FIGURES
from hookline.surfaces.web.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.surfaces.web.asked import PageRequest


def _visitor(asked: PageRequest) -> project.Visitor:
    return project.visitor(asked.app, asked.role, asked.refused)


def _attention(asked: PageRequest) -> waiting.AttentionPage:
    return waiting.attention_page(asked.app)


def _sessions(asked: PageRequest) -> sessions.SessionsPage:
    wanted = asked.given(g.SessionsWanted)
    chosen = sessions.SessionFilter(wanted.status, names(wanted.runs))
    return sessions.sessions_page(asked.app, chosen, wanted.before, wanted.limit)


def _session(asked: PageRequest) -> sessions.SessionPage:
    return sessions.session_page(asked.app, asked.parts["run"])


def _iteration(asked: PageRequest) -> iteration.IterationPage:
    return iteration.iteration_page(asked.app, asked.parts["run"], asked.number("chapter"))


def _iteration_diff(asked: PageRequest) -> changes.DiffPage:
    run, chapter = asked.parts["run"], asked.number("chapter")
    return asyncio.run(changes.iteration_diff(asked.app, run, chapter))


def _effect_text(asked: PageRequest) -> str:
    parts = asked.parts
    chapter = asked.number("chapter")
    return iteration.effect_text(asked.app, parts["run"], chapter, parts["effect"], parts["part"])


def _tasks(asked: PageRequest) -> tasks.TasksPage:
    wanted = asked.given(g.TasksWanted)
    named = names(wanted.ids)
    chosen = tasks.TaskFilter(wanted.state, wanted.label, wanted.type, wanted.all, named)
    return tasks.tasks_page(asked.app, chosen, wanted.after, wanted.limit)


def _task(asked: PageRequest) -> tasks.TaskPage:
    return tasks.task_page(asked.app, asked.parts["task"])


def _task_diff(asked: PageRequest) -> changes.DiffPage:
    return asyncio.run(changes.task_diff(asked.app, asked.parts["task"]))


def _graph(asked: PageRequest) -> graph.GraphPage:
    wanted = asked.given(g.GraphWanted)
    return graph.graph_page(asked.app, wanted.focus, whole=wanted.all, limit=wanted.limit)


def _pipeline(asked: PageRequest) -> pipeline.PipelinePage:
    return pipeline.pipeline_page(asked.app)


def _runs(asked: PageRequest) -> runs.RunsPage:
    wanted = asked.given(g.RunsWanted)
    chosen = runs.RunFilter(wanted.status, wanted.flow)
    return runs.runs_page(asked.app, chosen, wanted.before, wanted.limit)


def _run(asked: PageRequest) -> runs.RunPage:
    return runs.run_page(asked.app, asked.parts["run"], asked.given(g.RunWanted).chapter)


def _hooks(asked: PageRequest) -> hooks.HooksPage:
    return hooks.hooks_page(asked.app)


def _hook(asked: PageRequest) -> hooks.HookPage:
    return hooks.hook_page(asked.app, asked.parts["hook"])


def _call_text(asked: PageRequest) -> str:
    return hooks.call_text(asked.app, asked.number("call"), asked.parts["part"])


def _events(asked: PageRequest) -> events.EventsPage:
    wanted = asked.given(g.EventsWanted)
    types = tuple(wanted.types.split(",")) if wanted.types else ()
    chosen = events.EventFilter(types, wanted.node, wanted.before, wanted.after)
    return events.events_page(asked.app, chosen, wanted.limit)


def _event(asked: PageRequest) -> events.EventPage:
    return events.event_page(asked.app, asked.number("seq"))


def _search(asked: PageRequest) -> search.SearchPage:
    wanted = asked.given(g.SearchWanted)
    return search.search(asked.app, wanted.q, wanted.limit)


def _playground(asked: PageRequest) -> hooks.Tried:
    wanted = asked.given(g.TrialGiven)
    return hooks.try_condition(asked.app, wanted.when, wanted.seq, wanted.hook)


HANDLERS: Mapping[str, Callable[[PageRequest], Any]] = {
    "visitor": _visitor,
    "attention": _attention,
    "sessions": _sessions,
    "session": _session,
    "iteration": _iteration,
    "iteration_diff": _iteration_diff,
    "effect_text": _effect_text,
    "tasks": _tasks,
    "task": _task,
    "task_diff": _task_diff,
    "graph": _graph,
    "pipeline": _pipeline,
    "runs": _runs,
    "run": _run,
    "hooks": _hooks,
    "hook": _hook,
    "call_text": _call_text,
    "events": _events,
    "event": _event,
    "search": _search,
    "playground": _playground,
    **FIGURES,
    **VERBS,
}

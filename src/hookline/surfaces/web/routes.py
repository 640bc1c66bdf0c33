"""Every address of the API, with what it takes and answers. The description is written from here.

Nothing here has a body; `handlers` has those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.immutable import Immutable
from hookline.queries.insights.types import InsightFacts, Insights
from hookline.queries.page.changes import DiffPage
from hookline.queries.page.events import EventPage, EventsPage, FeedEntry, StreamLine
from hookline.queries.page.graph import GraphPage
from hookline.queries.page.hooks import HookPage, HooksPage, Tried
from hookline.queries.page.iteration import IterationPage
from hookline.queries.page.pipeline import PipelinePage
from hookline.queries.page.project import Visitor
from hookline.queries.page.runs import RunPage, RunsPage
from hookline.queries.page.search import SearchPage
from hookline.queries.page.sessions import SessionPage, SessionsPage
from hookline.queries.page.tasks import TaskPage, TasksPage
from hookline.queries.page.waiting import AttentionPage
from hookline.surfaces.web import given
from hookline.surfaces.web.answers import DoneAnswer

if TYPE_CHECKING:
    import msgspec

GET, POST = "GET", "POST"
JSON, LINES, TEXT = "application/json", "application/x-ndjson", "text/plain; charset=utf-8"


class Route(Immutable):
    """An address: its `{parts}`, its parameters or body, and its answer.

    One without an answer is a plain text. What is `decided` there only a person can do; viewers and
    agents are refused.
    """

    method: str
    path: str
    name: str
    doc: str
    answer: type[msgspec.Struct] | None
    takes: type[msgspec.Struct] = given.Nothing
    content: str = JSON
    decided: bool = False


def _get(
    path: str,
    name: str,
    doc: str,
    answer: type[msgspec.Struct] | None,
    takes: type[msgspec.Struct] = given.Nothing,
    content: str = JSON,
) -> Route:
    return Route(GET, path, name, doc, answer, takes, content)


def _post(
    path: str,
    name: str,
    doc: str,
    takes: type[msgspec.Struct],
    answer: type[msgspec.Struct] = DoneAnswer,
    *,
    decided: bool = True,
) -> Route:
    return Route(POST, path, name, doc, answer, takes, JSON, decided)


SHOWN = (
    _get("/api/me", "visitor", "Who looks, and at which project.", Visitor),
    _get("/api/attention", "attention", "What waits for a person.", AttentionPage),
    _get(
        "/api/sessions",
        "sessions",
        "Sessions, the newest first.",
        SessionsPage,
        given.SessionsWanted,
    ),
    _get("/api/sessions/{run}", "session", "One session.", SessionPage),
    _get(
        "/api/sessions/{run}/iterations/{chapter}",
        "iteration",
        "One iteration of a session in full.",
        IterationPage,
    ),
    _get(
        "/api/sessions/{run}/iterations/{chapter}/diff",
        "iteration_diff",
        "What an iteration changed.",
        DiffPage,
    ),
    _get(
        "/api/sessions/{run}/iterations/{chapter}/texts/{effect}/{part}",
        "effect_text",
        "All of a text of an effect: its `prompt`, or what the agent said as `text`.",
        None,
        content=TEXT,
    ),
    _get(
        "/api/sessions/{run}/feed",
        "feed",
        "What the agent says and does, as it happens: a line of JSON for each record.",
        FeedEntry,
        given.FeedWanted,
        content=LINES,
    ),
    _get(
        "/api/tasks",
        "tasks",
        "Tasks in the order in which they are taken.",
        TasksPage,
        given.TasksWanted,
    ),
    _get("/api/tasks/{task}", "task", "A task's story.", TaskPage),
    _get("/api/tasks/{task}/diff", "task_diff", "What a task's work changes.", DiffPage),
    _get("/api/graph", "graph", "The task graph, laid out.", GraphPage, given.GraphWanted),
    _get("/api/pipeline", "pipeline", "Lanes, gates and the merge queue.", PipelinePage),
    _get("/api/runs", "runs", "Runs of flows, the newest first.", RunsPage, given.RunsWanted),
    _get("/api/runs/{run}", "run", "A run with its journal.", RunPage, given.RunWanted),
    _get("/api/hooks", "hooks", "Every hook with its figures.", HooksPage),
    _get("/api/hooks/{hook}", "hook", "One hook.", HookPage),
    _get(
        "/api/calls/{call}/{part}",
        "call_text",
        "All that a hook printed: `stdout` or `stderr`.",
        None,
        content=TEXT,
    ),
    _get(
        "/api/events", "events", "The log, the newest event first.", EventsPage, given.EventsWanted
    ),
    _get("/api/events/{seq}", "event", "One event, and what it led to.", EventPage),
    _get("/api/search", "search", "Search over everything.", SearchPage, given.SearchWanted),
    _get(
        "/api/insights",
        "insights",
        "How work goes, in tables with charts and advice.",
        Insights,
        given.InsightsWanted,
    ),
    _get(
        "/api/insights/{table}/facts",
        "insight_facts",
        "The facts behind a figure, the newest first.",
        InsightFacts,
        given.InsightFactsWanted,
    ),
    _get(
        "/api/insights/{table}/csv",
        "insight_csv",
        "A table as CSV.",
        None,
        given.InsightsWanted,
        TEXT,
    ),
    _get("/metrics", "metrics", "The figures of the record for Prometheus.", None, content=TEXT),
    _get(
        "/api/stream",
        "stream",
        "Events as they happen, a line of JSON for each.",
        StreamLine,
        given.StreamWanted,
        LINES,
    ),
)
DONE = (
    _post(
        "/api/playground",
        "playground",
        "Try a condition on a recorded event.",
        given.TrialGiven,
        Tried,
        decided=False,
    ),
    _post("/api/tasks/{task}/approve", "approve", "Approve work that waits.", given.ApprovalGiven),
    _post(
        "/api/tasks/{task}/reject", "reject", "Send work back, with comments.", given.RejectionGiven
    ),
    _post("/api/tasks/{task}/override", "override", "Bypass a gate.", given.OverrideGiven),
    _post(
        "/api/tasks/{task}/submit",
        "submit",
        "Submit a task's work, or continue that.",
        given.Nothing,
    ),
    _post(
        "/api/tasks/{task}/merge", "merge", "Merge submitted work, or continue that.", given.Nothing
    ),
    _post("/api/tasks", "add_task", "Add a task.", given.TaskGiven),
    _post("/api/tasks/order", "order_tasks", "Put tasks into an order.", given.OrderGiven),
    _post("/api/tasks/{task}", "change_task", "Change a task.", given.ChangesGiven),
    _post(
        "/api/tasks/{task}/dependencies",
        "change_dependencies",
        "Add and remove dependencies.",
        given.DependenciesGiven,
    ),
    _post("/api/sessions", "start_session", "Start a session.", given.SessionGiven),
    _post(
        "/api/sessions/{run}/message",
        "message",
        "Send a message to a session's agent.",
        given.MessageGiven,
    ),
    _post("/api/sessions/{run}/pause", "pause_session", "Pause a session.", given.Nothing),
    _post("/api/sessions/{run}/stop", "stop_session", "Stop a session.", given.StopGiven),
    _post("/api/sessions/{run}/resume", "resume_session", "Resume a session.", given.ResumeGiven),
    _post("/api/runs/{run}/answer", "answer", "Answer a breakpoint.", given.AnswerGiven),
    _post(
        "/api/runs/{run}/resume", "resume_run", "Resume a run, or have it continue.", given.Nothing
    ),
    _post("/api/runs/{run}/pause", "pause_run", "Pause a run.", given.ReasonGiven),
    _post("/api/runs/{run}/stop", "stop_run", "Park a run.", given.ReasonGiven),
    _post("/api/runs/{run}/cancel", "cancel_run", "Cancel a run.", given.ReasonGiven),
)
ROUTES = (*SHOWN, *DONE)

"""The shared hypothesis strategies: JSON, events, hooks with their outcomes under each rule."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from hookline.domain.events import STATE_BEARING, Event, event_id
from hookline.domain.hooks.answers import FeedAnswer, GateAnswer, GuardAnswer, StopDecision
from hookline.domain.hooks.records import FAILED, OK, SKIPPED, TIMEOUT, Action, Outcome
from hookline.hooks.registry import LAYERS, Hook

Said = list[tuple[Hook, Outcome]]

texts = st.text(st.characters(codec="utf-8"), max_size=12)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)

# Events as they stand in a log, of any type that bears no state of its own.

event_types = st.from_regex(r"[a-z][a-z0-9_.-]{0,20}", fullmatch=True).filter(
    lambda name: name not in STATE_BEARING
)
nodes = st.just("system") | st.integers(1, 10**6).map("T-{}".format)
events = st.builds(
    lambda seq, kind, node, data, metadata: Event(
        seq, event_id("store", seq), "2026-01-17T12:00:00.000Z", kind, node, data, metadata
    ),
    st.integers(1, 10**11),
    event_types,
    nodes,
    json_objects,
    json_objects,
)

# What a hook may answer under each rule, once its reply was read.

actions = st.lists(st.builds(Action, st.just("log"), json_objects), max_size=3).map(tuple)
feeds = st.builds(FeedAnswer, text=texts)
gates = st.builds(
    GateAnswer,
    status=st.sampled_from(["success", "success", "skip", "failure", "pending"]),
    message=texts,
    context=st.dictionaries(st.sampled_from("abc"), st.integers(), max_size=2),
    remediation_prompt=st.none() | texts,
)
decisions = st.builds(
    StopDecision,
    action=st.sampled_from(["continue", "continue", "continue", "complete", "escalate"]),
    reason=texts,
    next_prompt=st.none() | texts,
    metadata=st.dictionaries(st.sampled_from("abc"), st.integers(), max_size=2),
)
steers: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.just({"action": "none"}),
    st.builds(lambda reason: {"action": "none", "reason": reason}, texts),
    st.builds(lambda tasks: {"action": "pass", "tasks": tasks}, st.lists(texts, max_size=2)),
    st.builds(lambda action: {"action": action}, st.sampled_from(["waiting", "made-up"])),
    st.builds(lambda more: {"needsMoreIterations": more}, st.booleans()),
)
VERDICTS = ("deny", "defer", "ask", "modify", "allow", "none")
guards = st.builds(
    GuardAnswer,
    verdict=st.sampled_from(VERDICTS),
    reason=texts,
    context=st.none() | texts,
    updated_input=st.none() | st.dictionaries(st.sampled_from("xy"), st.integers(), max_size=1),
)
ANSWERS: dict[str, st.SearchStrategy[Any]] = {
    "react": actions,
    "feed": feeds,
    "gate": gates,
    "decide": decisions,
    "steer": steers,
    "guard": guards,
}
RULE_NAMES = tuple(ANSWERS)

priorities = st.sampled_from([0, 0, 1, 100]) | st.integers(-5, 200)


@st.composite
def hooks(draw: st.DrawFn, name: str) -> Hook:
    """A hook of any rank, with every option that a rule looks at."""
    return Hook(
        name=name,
        points=("task_created",),
        kind="command",
        target=name,
        priority=draw(priorities),
        layer=draw(st.sampled_from(LAYERS)),
        position=draw(st.integers(1, 9)),
        pipe_output=draw(st.booleans()),
        rewrites=draw(st.booleans()),
        on_failure=draw(st.sampled_from(["open", "closed", "ask"])),
    )


@st.composite
def outcomes(draw: st.DrawFn, rule: str, name: str) -> Outcome:
    """How a call of a hook under a rule may have gone."""
    status = draw(st.sampled_from([OK, OK, OK, OK, SKIPPED, FAILED, TIMEOUT]))
    if status == OK:
        return Outcome(name, OK, draw(ANSWERS[rule]))
    if status == SKIPPED:
        return Outcome(name, SKIPPED)
    return Outcome(name, status, None, draw(texts), stdout=draw(texts), stderr=draw(texts))


@st.composite
def said(draw: st.DrawFn, rule: str, prefix: str = "h", max_size: int = 6) -> Said:
    """Hooks with the outcome that each will have if it is asked."""
    count = draw(st.integers(0, max_size))
    names = [f"{prefix}{number}" for number in range(count)]
    return [(draw(hooks(name)), draw(outcomes(rule, name))) for name in names]


@st.composite
def said_under_any_rule(draw: st.DrawFn) -> tuple[str, Said]:
    """A rule, and what hooks say under it."""
    rule = draw(st.sampled_from(RULE_NAMES))
    return rule, draw(said(rule))

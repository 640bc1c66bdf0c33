"""The shape of hookline.yaml as types: loading, the JSON Schema and the docs all read these.

A field whose Meta says `reads: hooks` is read by `entries`, which knows points and built-ins.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hookline.domain.submissions import MAX_FILE

DAY = 86_400
# How lengths of time and sizes may be written besides as numbers.
DURATION_TEXT = r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ?(ms|s|m|h)?"
SIZE_TEXT = r"([0-9]{1,12}) ?(B|KB|MB|GB)?"

Duration = Annotated[
    float,
    Meta(
        gt=0,
        le=DAY,
        description='Seconds as a number, or a text such as "30s", "2m" or "1h"; at most a day.',
        extra={"reads": "duration"},
    ),
]
Size = Annotated[
    int,
    Meta(
        ge=0,
        description='Bytes as a whole number, or a text such as "500 KB" or "5 MB".',
        extra={"reads": "size"},
    ),
]
Line = Annotated[str, Meta(min_length=1, description="A shell line.", extra={"reads": "line"})]
Text = Annotated[str, Meta(min_length=1)]
Options = (
    Annotated[
        Literal["allow"],
        Meta(description="Values that begin with '-' may be options of the command."),
    ]
    | None
)
Priority = Annotated[
    int,
    Meta(ge=-1_000_000, le=1_000_000, description="Low runs first; the default is 100."),
]


class _Section(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Every key is checked; a misspelt one is an error."""


class HookMetadata(_Section):
    """Who made a hook, and what it belongs to; Hookline only shows it."""

    author: Annotated[str, Meta(min_length=1, description="Who made the hook.")] | None = None
    version: Annotated[str, Meta(min_length=1, description="The hook's own version.")] | None = None
    tags: Annotated[list[Text], Meta(description="Words to find the hook by.")] = []


class Entry(_Section):
    """A hook: one of command, script, python, http, agent or a built-in's name, and how it runs."""

    name: Annotated[str, Meta(min_length=1, description="The hook's name; unique.")] | None = None
    command: Line | None = None
    script: (
        Annotated[str, Meta(min_length=1, description="An executable file: JSON in, JSON out.")]
        | None
    ) = None
    python: (
        Annotated[str, Meta(min_length=1, description="A function, as module:function.")] | None
    ) = None
    http: Annotated[str, Meta(min_length=1, description="A URL to POST to.")] | None = None
    agent: Annotated[str, Meta(min_length=1, description="An agent profile to ask.")] | None = None
    prompt: Annotated[str, Meta(description="What the agent is asked.")] | None = None
    when: (
        Annotated[str, Meta(min_length=1, description="Run only if this expression holds.")] | None
    ) = None
    timeout: Duration | None = None
    priority: Priority | None = None
    enabled: Annotated[bool, Meta(description="false switches the hook off.")] | None = None
    pipe_output: Annotated[bool, Meta(description="Give the output to the agent.")] = False
    on_failure: Annotated[
        Literal["open", "closed", "ask"],
        Meta(description="What a failure of this hook means at a guard point."),
    ] = "closed"
    rewrites: Annotated[
        bool, Meta(description="The hook changes the tool's input; it runs before the checks.")
    ] = False
    options: Options = None
    env: Annotated[dict[str, str], Meta(description="More environment variables.")] = {}
    headers: Annotated[dict[str, str], Meta(description="HTTP headers.")] = {}
    description: Annotated[str, Meta(description="What the hook is for.")] = ""
    metadata: HookMetadata = msgspec.field(default_factory=HookMetadata)
    deliver: Annotated[
        Literal["now", "next"],
        Meta(description="When piped output reaches the agent: at once, or with the next prompt."),
    ] = "next"


Hooks = Annotated[
    dict[str, list[str | Entry] | None] | None,
    Meta(description="Hook points, each with its hooks in order.", extra={"reads": "hooks"}),
]


class Budget(_Section):
    """Limits of a session besides its iterations."""

    minutes: (
        Annotated[float, Meta(gt=0, le=525_600, description="Minutes of wall-clock time.")] | None
    ) = None
    usd: Annotated[float, Meta(gt=0, description="Money, as the agent reports it.")] | None = None
    tokens: Annotated[int, Meta(gt=0, description="Tokens, as the agent reports them.")] | None = (
        None
    )


class Guards(_Section):
    """When a loop is taken to be stuck, each as a number of iterations; 0 switches one off."""

    identical_output: Annotated[
        int, Meta(ge=0, description="The same words and no change in files, so many times.")
    ] = 10
    no_change: Annotated[int, Meta(ge=0, description="No change in files, so many times.")] = 15
    failures: Annotated[int, Meta(ge=0, description="So many failures one after the other.")] = 5
    thrashing: Annotated[
        int, Meta(ge=0, description="The files were as they had been before, so many times.")
    ] = 4
    quality_regression: Annotated[
        int, Meta(ge=0, description="Fewer rules pass than at best, so many times.")
    ] = 5


class Session(_Section):
    """How an agent works alone, and for how long."""

    iterations: Annotated[
        int, Meta(ge=1, le=100_000, description="At most so many iterations.")
    ] = 20
    budget: Budget = msgspec.field(default_factory=Budget)
    guards: Guards = msgspec.field(default_factory=Guards)
    plan: Annotated[bool, Meta(description="Let the agent plan tasks first; `run` shows them.")] = (
        False
    )
    prompt: (
        Annotated[str, Meta(min_length=1, description="A file that replaces the prompt.")] | None
    ) = None
    conversation: Annotated[
        Literal["fresh", "continue"],
        Meta(description="A new conversation for each iteration, or one for the session."),
    ] = "fresh"
    turn_timeout: Duration = 3600.0
    model_wait: Duration = 60.0


class Validation(_Section):
    """A check of the agent's work after each iteration; stop hooks see its result."""

    name: Annotated[str, Meta(min_length=1, description="The rule's name; unique.")]
    type: Annotated[
        Literal["command", "content_pattern", "coverage", "file_existence", "custom"],
        Meta(description="What is checked."),
    ]
    command: Line | None = None
    timeout: Duration | None = None
    pattern: (
        Annotated[str, Meta(min_length=1, description="A regular expression to find.")] | None
    ) = None
    files: Annotated[list[Text], Meta(description="Files or patterns such as src/**/*.py.")] = []
    report: Annotated[str, Meta(min_length=1, description="The coverage report.")] | None = None
    minimum: (
        Annotated[float, Meta(ge=0, le=100, description="The least coverage in per cent.")] | None
    ) = None
    python: (
        Annotated[str, Meta(min_length=1, description="A function, as module:function.")] | None
    ) = None


class Gates(_Section):
    """How finished work gets to the base branch."""

    base: (
        Annotated[str, Meta(min_length=1, description="The branch that work goes into.")] | None
    ) = None
    remote: Annotated[str, Meta(description="The remote; empty for none.")] | None = None
    forge: Annotated[
        Literal["local", "github"], Meta(description="Where pull requests are made.")
    ] = "local"
    api: Annotated[str, Meta(min_length=1, description="The forge's REST address.")] | None = None
    tries: Annotated[
        int, Meta(ge=0, le=100, description="How often the agent may fix what a gate rejects.")
    ] = 3
    turns: Annotated[
        int, Meta(ge=1, le=1000, description="The most steps of an agent in one such turn.")
    ] = 20
    uncommitted: Annotated[
        Literal["commit", "refuse"], Meta(description="What is done with uncommitted work.")
    ] = "commit"
    max_file: Annotated[
        Size, Meta(description="The largest file that work may bring; 0 for any size.")
    ] = MAX_FILE
    without_commits: (
        Annotated[
            Literal["complete", "park"], Meta(description="What becomes of a task without commits.")
        ]
        | None
    ) = None
    method: Annotated[
        Literal["merge", "squash", "rebase"], Meta(description="How work is merged.")
    ] = "merge"
    max_wait: Annotated[
        float,
        Meta(
            gt=0,
            le=30 * DAY,
            description="How long a gate may wait that no person decides; then the work goes back.",
            extra={"reads": "duration"},
        ),
    ] = float(DAY)
    merge: Annotated[
        Literal["hookline", "people"],
        Meta(description="Who merges: Hookline, or people, at the forge or with git."),
    ] = "hookline"
    delete_branch: Annotated[
        bool, Meta(description="Whether a task's branch is removed from the remote once merged.")
    ] = True
    test: Annotated[Line, Meta(description="Tests the merged result; else run_tests.")] | None = (
        None
    )


class TypeAgents(_Section):
    """The agent profiles that work on a type of task."""

    implementer: Annotated[list[Text], Meta(description="Profiles that do the work.")] = []
    gatekeeper: Annotated[list[Text], Meta(description="Profiles that judge it.")] = []


class TaskType(_Section):
    """A type of task: its own hooks, which replace those of their points, and its agents."""

    hooks: Hooks = None
    agents: TypeAgents = msgspec.field(default_factory=TypeAgents)
    skip_pr: Annotated[bool, Meta(description="Merge without a pull request.")] = False
    may_create: Annotated[
        list[Text],
        Meta(description="Types, besides its own, of tasks that agents on such a task may create."),
    ] = []


class Agent(_Section):
    """An agent profile: how an agent is started and spoken to."""

    driver: Annotated[
        Literal["command", "claude-code", "codex", "acp", "scripted"],
        Meta(description="How Hookline talks to the agent."),
    ]
    model: Annotated[str, Meta(min_length=1, description="The model's name.")] | None = None
    command: Annotated[Line, Meta(description="The shell line or program.")] | None = None
    input: Annotated[
        Literal["stdin", "file", "argument"],
        Meta(description="How the prompt reaches a `driver: command` agent."),
    ] = "stdin"
    args: Annotated[list[str], Meta(description="More arguments.")] = []
    env: Annotated[dict[str, str], Meta(description="More environment variables.")] = {}
    permissions: Annotated[
        Literal["read", "work", "full"],
        Meta(
            description="What the agent may do unasked: look; edit files and run commands;"
            " anything, without its own sandbox."
        ),
    ] = "work"
    prompt: Annotated[str, Meta(min_length=1, description="A file with the prompt.")] | None = None
    script: (
        Annotated[str, Meta(min_length=1, description="What a scripted agent says and does.")]
        | None
    ) = None
    hooks: Hooks = None


class StepTask(_Section):
    """A task that a flow adds and waits for."""

    goal: Annotated[str, Meta(min_length=1, description="What is to be done.")]
    labels: list[Text] = []
    deliverables: list[Text] = []
    priority: int | None = None
    type: Text | None = None


class StepUpdate(_Section):
    """A verb that a flow carries out on a task."""

    id: Annotated[str, Meta(min_length=1, description="The task; may hold {{values}}.")]
    action: Annotated[str, Meta(min_length=1, description="The verb, such as complete.")]
    payload: Annotated[dict[str, Any], Meta(description="What the verb takes.")] = {}


class StepAgent(_Section):
    """A turn of an agent."""

    prompt: Annotated[str, Meta(min_length=1, description="What the agent is told.")]
    agent: Annotated[str, Meta(min_length=1, description="The profile.")] | None = None


class StepHook(_Section):
    """A hook point that a flow fires."""

    point: Annotated[str, Meta(min_length=1, description="The hook point.")]
    payload: Annotated[dict[str, Any], Meta(description="What its hooks receive.")] = {}


class Step(_Section):
    """A step of a flow: one act, and how it is done."""

    id: Annotated[str, Meta(min_length=1, description="The step's name; unique in its flow.")]
    run: Line | None = None
    parallel: Annotated[list[Step], Meta(description="Steps that run together.")] | None = None
    breakpoint: Annotated[str, Meta(min_length=1, description="A question to a person.")] | None = (
        None
    )
    sleep: Duration | None = None
    task: StepTask | None = None
    update_task: StepUpdate | None = None
    agent: str | StepAgent | None = None
    hook: str | StepHook | None = None
    noop: bool | None = None
    when: Annotated[str, Meta(min_length=1, description="Only if this is true.")] | None = None
    timeout: Duration | None = None
    retries: (
        Annotated[int, Meta(ge=0, le=100, description="Tries after a temporary error.")] | None
    ) = None
    max_age: Duration | None = None
    check: Annotated[bool, Meta(description="A failing command fails the run.")] = True
    options: Options = None
    metadata: Annotated[dict[str, Any], Meta(description="Handed to hooks as it is.")] = {}


class Flow(_Section):
    """A flow: steps in order, journaled, resumed after any interruption."""

    steps: Annotated[list[Step], Meta(min_length=1, description="The steps in order.")]


class EngineLimits(_Section):
    """How much the engine does at once, by kind of effect: node, call, agent, hook."""

    concurrency: Annotated[
        dict[str, Annotated[int, Meta(ge=1)]], Meta(description="So many at once.")
    ] = {}
    per_minute: Annotated[
        dict[str, Annotated[float, Meta(gt=0)]], Meta(description="So many begin in a minute.")
    ] = {}


class Sections(_Section):
    """The settings besides hooks."""

    session: Session = msgspec.field(default_factory=Session)
    validation: Annotated[list[Validation], Meta(description="Checks of the agent's work.")] = []
    task_types: Annotated[dict[str, TaskType], Meta(description="Types of tasks by name.")] = {}
    agents: Annotated[dict[str, Agent], Meta(description="Agent profiles by name.")] = {}
    agent: Annotated[str, Meta(min_length=1, description="The profile to use.")] | None = None
    flows: Annotated[dict[str, Flow], Meta(description="Flows by name.")] = {}
    limits: EngineLimits = msgspec.field(default_factory=EngineLimits)
    gates: Gates = msgspec.field(default_factory=Gates)


class Document(Sections):
    """Configuration of Hookline."""

    version: Annotated[Literal[1], Meta(description="The format's version.")] = 1
    hooks: Hooks = None
    events: Annotated[
        list[Text],
        Meta(description="Event types of your own; each becomes a hook point."),
    ] = []


class AutomationHook(msgspec.Struct, kw_only=True, rename="camel"):
    """An entry of automation-hooks.json. `event_types` is recorded and changes nothing."""

    name: Text
    enabled: bool | None = None
    priority: Priority | None = None
    event_types: list[str] = []

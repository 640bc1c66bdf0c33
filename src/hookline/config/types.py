"""The shape of hookline.yaml as types: loading, the JSON Schema and the docs all read these.

A field whose Meta says `reads: hooks` is read by `entries`, which knows points and built-ins.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hookline.domain.hosts import LEASE_OF_HOSTS
from hookline.domain.schedule import DIGEST
from hookline.domain.sessions.turns import Prices
from hookline.domain.work.submissions import MAX_FILE
from hookline.plugins import DRIVERS, FORGES, SCHEDULERS

DAY = 86_400
# How lengths of time and sizes may be written besides as numbers.
DURATION_TEXT = r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ?(ms|s|m|h)?"
SIZE_TEXT = r"([0-9]{1,12}) ?(B|KB|MB|GB)?"


def about(description: str, **more: Any) -> Meta:
    """What a field is for, as the schema and the docs tell it."""
    return Meta(description=description, **more)


Duration = Annotated[
    float,
    about(
        'Seconds as a number, or a text such as "30s", "2m" or "1h"; at most a day.',
        gt=0,
        le=DAY,
        extra={"reads": "duration"},
    ),
]
Size = Annotated[
    int,
    about(
        'Bytes as a whole number, or a text such as "500 KB" or "5 MB".',
        ge=0,
        extra={"reads": "size"},
    ),
]
Line = Annotated[str, about("A shell line.", min_length=1, extra={"reads": "line"})]
Text = Annotated[str, Meta(min_length=1)]
Options = (
    Annotated[
        Literal["allow"],
        about(
            "Whether values that begin with '-' are allowed, which the command may read as options."
        ),
    ]
    | None
)
Priority = Annotated[
    int, about("Lower runs first; the default is 100.", ge=-1_000_000, le=1_000_000)
]


class _Section(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Every key is checked; a misspelt one is an error."""


class HookMetadata(_Section):
    """Who made a hook, and what it belongs to; Hookline only shows it."""

    author: Annotated[Text, about("Who made the hook.")] | None = None
    version: Annotated[Text, about("The hook's own version.")] | None = None
    tags: Annotated[list[Text], about("Words to search for the hook by.")] = []


class Entry(_Section):
    """A hook: the kind of thing that it runs, or a built-in's name, and how it runs."""

    name: Annotated[Text, about("The hook's name; unique.")] | None = None
    prompt: Annotated[str, about("What the agent is asked.")] | None = None
    when: Annotated[Text, about("Run only if this expression is true.")] | None = None
    timeout: Duration | None = None
    priority: Priority | None = None
    enabled: Annotated[bool, about("false switches the hook off.")] | None = None
    pipe_output: Annotated[bool, about("Give the output to the agent.")] = False
    on_failure: Annotated[
        Literal["open", "closed", "ask"],
        about("What a failure of this hook means at a guard point."),
    ] = "closed"
    rewrites: Annotated[
        bool, about("The hook changes the tool's input; it runs before the other hooks.")
    ] = False
    options: Options = None
    env: Annotated[dict[str, str], about("More environment variables.")] = {}
    headers: Annotated[dict[str, str], about("HTTP headers.")] = {}
    description: Annotated[str, about("What the hook is for.")] = ""
    metadata: HookMetadata = msgspec.field(default_factory=HookMetadata)
    deliver: Annotated[
        Literal["now", "next"],
        about("When piped output reaches the agent: at once, or with the next prompt."),
    ] = "next"


Hooks = Annotated[
    dict[str, list[str | Entry] | None] | None,
    about("Hook points, each with its hooks in order.", extra={"reads": "hooks"}),
]


class Budget(_Section):
    """Limits of a session besides its iterations."""

    minutes: Annotated[float, about("Minutes of wall-clock time.", gt=0, le=525_600)] | None = None
    usd: Annotated[float, about("Cost in dollars, as agents report it.", gt=0)] | None = None
    tokens: Annotated[int, about("Tokens, as the agent reports them.", gt=0)] | None = None


class Guards(_Section):
    """When a loop is taken to be stuck, each as a number of iterations; 0 switches one off."""

    identical_output: Annotated[
        int,
        about("Stop after this many iterations with the same answer and no changed files.", ge=0),
    ] = 10
    no_change: Annotated[
        int, about("Stop after this many iterations without changed files.", ge=0)
    ] = 15
    failures: Annotated[int, about("Stop after this many failures in a row.", ge=0)] = 5
    thrashing: Annotated[
        int, about("Stop after the files went back to an earlier state this many times.", ge=0)
    ] = 4
    quality_regression: Annotated[
        int, about("Stop after this many iterations with fewer passing rules than before.", ge=0)
    ] = 5


class Session(_Section):
    """How an agent works alone, and for how long."""

    iterations: Annotated[int, about("Stop after this many iterations.", ge=1, le=100_000)] = 20
    budget: Budget = msgspec.field(default_factory=Budget)
    guards: Guards = msgspec.field(default_factory=Guards)
    plan: Annotated[bool, about("Let the agent plan tasks first; `run` shows them.")] = False
    prompt: Annotated[Text, about("A file that replaces the prompt.")] | None = None
    conversation: Annotated[
        Literal["fresh", "continue"],
        about("A new conversation for each iteration, or one for the session."),
    ] = "fresh"
    turn_timeout: Duration = 3600.0
    model_wait: Duration = 60.0
    copies: Annotated[
        bool, about("On a shared store, keep a copy of the work for other machines.")
    ] = True


class Validation(_Section):
    """A check of the agent's work after each iteration; stop hooks see its result."""

    name: Annotated[Text, about("The rule's name; unique.")]
    type: Annotated[
        Literal["command", "content_pattern", "coverage", "file_existence", "custom"],
        about("What is checked."),
    ]
    command: Line | None = None
    timeout: Duration | None = None
    pattern: Annotated[Text, about("A regular expression to find.")] | None = None
    files: Annotated[list[Text], about("Files or patterns such as src/**/*.py.")] = []
    report: Annotated[Text, about("The coverage report.")] | None = None
    minimum: Annotated[float, about("The minimum coverage in percent.", ge=0, le=100)] | None = None
    python: Annotated[Text, about("A function, as module:function.")] | None = None
    follow: Annotated[bool, about("Let the agent edit the test files that the command names.")] = (
        False
    )


class Gates(_Section):
    """How finished work gets to the base branch."""

    base: Annotated[Text, about("The branch that work is merged into.")] | None = None
    remote: Annotated[str, about("The remote; empty for none.")] | None = None
    forge: Annotated[str, about("Where pull requests are opened.", extra={"reads": FORGES})] = (
        "local"
    )
    options: Annotated[dict[str, Any], about("Options of a plugin's forge.")] = {}
    api: Annotated[Text, about("The URL of the forge's REST API.")] | None = None
    tries: Annotated[
        int, about("How many times the agent may fix rejected work.", ge=0, le=100)
    ] = 3
    turns: Annotated[
        int, about("How many steps the agent may take in one such turn.", ge=1, le=1000)
    ] = 20
    uncommitted: Annotated[
        Literal["commit", "refuse"], about("What to do with uncommitted work.")
    ] = "commit"
    max_file: Annotated[Size, about("The largest file that work may add; 0 for any size.")] = (
        MAX_FILE
    )
    without_commits: (
        Annotated[Literal["complete", "park"], about("What to do with a task without commits.")]
        | None
    ) = None
    method: Annotated[Literal["merge", "squash", "rebase"], about("How work is merged.")] = "merge"
    max_wait: Annotated[
        float,
        about(
            "How long a gate that no person decides may wait before the work is sent back.",
            gt=0,
            le=30 * DAY,
            extra={"reads": "duration"},
        ),
    ] = float(DAY)
    merge: Annotated[
        Literal["hookline", "people"],
        about("Who merges: Hookline, or people at the forge or with git."),
    ] = "hookline"
    delete_branch: Annotated[
        bool, about("Whether to remove a task's branch from the remote after the merge.")
    ] = True
    test: (
        Annotated[Line, about("The command that tests the merged result; default: run_tests.")]
        | None
    ) = None


class TypeAgents(_Section):
    """The agent profiles that work on a type of task."""

    implementer: Annotated[list[Text], about("Profiles that do the work.")] = []
    gatekeeper: Annotated[list[Text], about("Profiles that review it.")] = []


class TaskType(_Section):
    """A type of task: its own hooks, which replace those of their points, and its agents."""

    hooks: Hooks = None
    agents: TypeAgents = msgspec.field(default_factory=TypeAgents)
    skip_pr: Annotated[bool, about("Merge without a pull request.")] = False
    needs: Annotated[
        list[Text], about("Labels that a host must have to work on such tasks, such as gpu.")
    ] = []
    may_create: Annotated[
        list[Text], about("Other types of tasks that agents on such a task may create.")
    ] = []


class Agent(_Section):
    """An agent profile: how an agent is started and spoken to."""

    driver: Annotated[str, about("How Hookline talks to the agent.", extra={"reads": DRIVERS})]
    model: Annotated[Text, about("The model's name.")] | None = None
    command: Annotated[Line, about("The shell line or program.")] | None = None
    input: Annotated[
        Literal["stdin", "file", "argument"],
        about("How the prompt reaches a `driver: command` agent."),
    ] = "stdin"
    args: Annotated[list[str], about("More arguments.")] = []
    env: Annotated[dict[str, str], about("More environment variables.")] = {}
    permissions: Annotated[
        Literal["read", "work", "full"],
        about(
            "What the agent may do without asking: read; edit files and run commands;"
            " anything, without its own sandbox."
        ),
    ] = "work"
    prompt: Annotated[Text, about("A file with the prompt.")] | None = None
    script: Annotated[Text, about("What a scripted agent says and does.")] | None = None
    prices: (
        Annotated[Prices, about("What its model costs, if the agent does not report it.")] | None
    ) = None
    options: Annotated[dict[str, Any], about("Options of a plugin's driver.")] = {}
    hooks: Hooks = None


class StepTask(_Section):
    """A task that a flow adds and waits for."""

    goal: Annotated[Text, about("What the agent should do.")]
    labels: list[Text] = []
    deliverables: list[Text] = []
    priority: int | None = None
    type: Text | None = None


class StepUpdate(_Section):
    """A verb that a flow carries out on a task."""

    id: Annotated[Text, about("The task; may contain {{values}}.")]
    action: Annotated[Text, about("The verb, such as complete.")]
    payload: Annotated[dict[str, Any], about("The verb's arguments.")] = {}


class StepAgent(_Section):
    """A turn of an agent."""

    prompt: Annotated[Text, about("What the agent is told.")]
    agent: Annotated[Text, about("The profile.")] | None = None


class StepHook(_Section):
    """A hook point that a flow fires."""

    point: Annotated[Text, about("The hook point.")]
    payload: Annotated[dict[str, Any], about("What its hooks receive.")] = {}


class Step(_Section):
    """A step of a flow: one act, and how it is done."""

    id: Annotated[Text, about("The step's name; unique in its flow.")]
    run: Line | None = None
    parallel: Annotated[list[Step], about("Steps that run together.")] | None = None
    breakpoint: Annotated[Text, about("A question to a person.")] | None = None
    sleep: Duration | None = None
    task: StepTask | None = None
    flow: Annotated[Text, about("A flow to call; its result is the step's result.")] | None = None
    input: Annotated[dict[str, Any], about("The input of the called flow.")] = {}
    update_task: StepUpdate | None = None
    agent: str | StepAgent | None = None
    hook: str | StepHook | None = None
    noop: bool | None = None
    when: Annotated[Text, about("Run only if this is true.")] | None = None
    timeout: Duration | None = None
    retries: (
        Annotated[int, about("How many times to retry after a temporary error.", ge=0, le=100)]
        | None
    ) = None
    max_age: Duration | None = None
    check: Annotated[bool, about("A failing command fails the run.")] = True
    options: Options = None
    metadata: Annotated[dict[str, Any], about("Passed to hooks unchanged.")] = {}


class Flow(_Section):
    """A flow: steps in order, journaled, resumed after any interruption."""

    steps: Annotated[list[Step], about("The steps in order.", min_length=1)]


class EngineLimits(_Section):
    """How much the engine does at once, by kind of effect: node, call, agent, hook."""

    concurrency: Annotated[
        dict[str, Annotated[int, Meta(ge=1)]], about("How many to run at once.")
    ] = {}
    per_minute: Annotated[
        dict[str, Annotated[float, Meta(gt=0)]], about("How many to start per minute.")
    ] = {}


class Notifications(_Section):
    """When people are told, and how many things at once."""

    quiet: (
        Annotated[
            Text,
            about("Hours in which nothing is sent, such as 22:00-07:00; it is sent at their end."),
        ]
        | None
    ) = None
    timezone: (
        Annotated[Text, about("The zone of these hours; by default this machine's.")] | None
    ) = None
    digest: Annotated[
        float,
        about(
            "How long a channel is silent after a notification; then one tells everything.",
            ge=0,
            le=DAY,
            extra={"reads": "duration"},
        ),
    ] = DIGEST
    page: (
        Annotated[
            Text,
            about(
                "The address of `hookline serve`, such as https://hookline.example: messages link"
                " to it."
            ),
        ]
        | None
    ) = None


class HostSettings(_Section):
    """Machines that share a store on a server."""

    lease: Annotated[
        float,
        about(
            "How long work of a machine that is cut off is left to it; not for a store in a file.",
            ge=5,
            le=3600,
            extra={"reads": "duration"},
        ),
    ] = LEASE_OF_HOSTS
    labels: Annotated[
        list[Text], about("What this machine has, such as gpu; for your own file, not a project's.")
    ] = []


class SchedulerSection(_Section):
    """Who says when runs are advanced, and where; for `temporal`, how its server is reached."""

    kind: Annotated[Text, about(f"{', '.join(SCHEDULERS.own)}, or one of a plugin.")] = "local"
    address: Annotated[Text, about("Where the server is: `HOST:PORT`.")] = "localhost:7233"
    namespace: Annotated[Text, about("The namespace there.")] = "default"
    task_queue: (
        Annotated[Text, about("The queue of this project; by default one that no other has.")]
        | None
    ) = None
    tls: Annotated[
        bool, about("Whether to encrypt; an API key or a certificate means that, too.")
    ] = False
    api_key_env: (
        Annotated[Text, about("The environment variable that holds an API key.")] | None
    ) = None
    ca_env: (
        Annotated[
            Text, about("The variable with the path of the certificates to check the server's by.")
        ]
        | None
    ) = None
    cert_env: (
        Annotated[Text, about("The variable with the path of this client's certificate.")] | None
    ) = None
    key_env: (
        Annotated[Text, about("The variable with the path of that certificate's key.")] | None
    ) = None
    options: Annotated[dict[str, Any], about("What the scheduler of a plugin takes.")] = {}


class Telemetry(_Section):
    """Where the record is sent to as OpenTelemetry, and how much of it."""

    endpoint: (
        Annotated[
            Text,
            about("An OTLP collector, such as http://127.0.0.1:4318; needs `hookline[otel]`."),
        ]
        | None
    ) = None
    headers: Annotated[
        dict[str, Text],
        about("Headers, each with the name of the environment variable that holds its value."),
    ] = {}
    content: Annotated[
        bool, about("Send prompts, answers, output and errors too, without secrets.")
    ] = False
    metrics: Annotated[bool, about("Send metrics too; Phoenix and Langfuse take none.")] = False


class Sections(_Section):
    """The settings besides hooks."""

    store: (
        Annotated[
            Text,
            about(
                "Where everything is kept: `postgresql://USER@HOST/DATABASE?project=NAME`, which"
                " needs `hookline[postgres]`, or `embedded`: in `.hookline/`."
            ),
        ]
        | None
    ) = None
    store_listen: (
        Annotated[
            Text,
            about("The same database without a pooler in between, to be woken when it changes."),
        ]
        | None
    ) = None

    session: Session = msgspec.field(default_factory=Session)
    validation: Annotated[list[Validation], about("Checks of the agent's work.")] = []
    task_types: Annotated[dict[str, TaskType], about("Types of tasks by name.")] = {}
    agents: Annotated[dict[str, Agent], about("Agent profiles by name.")] = {}
    agent: Annotated[Text, about("The profile to use.")] | None = None
    flows: Annotated[dict[str, Flow], about("Flows by name.")] = {}
    limits: EngineLimits = msgspec.field(default_factory=EngineLimits)
    gates: Gates = msgspec.field(default_factory=Gates)
    notifications: Notifications = msgspec.field(default_factory=Notifications)
    hosts: HostSettings = msgspec.field(default_factory=HostSettings)
    scheduler: SchedulerSection = msgspec.field(default_factory=SchedulerSection)
    telemetry: Telemetry = msgspec.field(default_factory=Telemetry)


class Document(Sections):
    """Configuration of Hookline."""

    version: Annotated[Literal[1], about("The format's version.")] = 1
    hooks: Hooks = None
    events: Annotated[list[Text], about("Event types of your own; each becomes a hook point.")] = []


class AutomationHook(msgspec.Struct, kw_only=True, rename="camel"):
    """An entry of automation-hooks.json. `event_types` is recorded and changes nothing."""

    name: Text
    enabled: bool | None = None
    priority: Priority | None = None
    event_types: list[str] = []

"""What an agent is told: the prompt of an iteration and each message in between."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hookline.domain.hooks.names import short_name
from hookline.domain.pages.taskpage import indented
from hookline.domain.text.display import line_of
from hookline.domain.text.excerpts import without_middle
from hookline.errors import BadInput
from hookline.files import read_regular
from hookline.hooks.builtin.stop.context import FIX
from hookline.hooks.framing import framed_wishes, said_once
from hookline.hooks.language import braces
from hookline.hooks.language.braces import REFERENCE
from hookline.hooks.texts import texts, told

VARIABLES = {
    "hook_output": "what hooks have for the agent, framed; nothing where there is none",
    "messages": "what a person sent with `hookline session message`",
    "session": "the session's name",
    "iteration": "the iteration's number, from 1",
    "iterations": "the most iterations that there will be",
    "goal": "what the agent should do",
    "task": "the session's task: its id and goal",
    "ready_tasks": "tasks of this session that are left: what can be worked on, then what waits",
    "notes": "notes on the task, of its sessions, and of people for all tasks, framed",
    "history": "what the last iterations did",
    "sent_back": "why the work was sent back, or what a person was asked; in one prompt",
    "next_prompt": "what the stop hooks want the agent to do next",
    "role": "the prompt file of the agent's profile",
    "done": "what done means: branch, deliverables, checks, gates, git rules, how to end",
}

_TEXTS = texts("session")
DEFAULT, DEFAULT_LAST = (
    _TEXTS["iteration"].replace("{{next}}", _TEXTS[each]) for each in ("notes", "last")
)
PLAN = _TEXTS["plan"]

_UNESCAPED = re.compile(rf"(?<!\\){REFERENCE.pattern}")
_LINE = re.compile(rf"^{REFERENCE.pattern}\n", re.MULTILINE)
_GAP = re.compile(r"\n{3,}")
_PROMISE = re.compile(r"(?<!`)<promise\s*>\s*\w+\s*</promise\s*>(?!`)")
# Lines of an output that could pass for the name of another hook.
_SOURCE = re.compile(r"^(\[\w+: )", re.MULTILINE)
MAX_PROMPT = 256 * 1024
SHOWN_OF_NAME = 300
CAP = 32 * 1024
MAX_NOTES = 8 * 1024


def read(root: str, name: str) -> str:
    """A prompt's file; BadInput if it cannot be one."""
    try:
        data = read_regular(os.path.join(root, name), MAX_PROMPT + 1)
    except (OSError, ValueError) as problem:  # a name can have characters that no path can
        raise BadInput(
            f"the prompt {name} cannot be read: {getattr(problem, 'strerror', problem)}",
            help="correct `prompt:` in hookline.yaml, or write the file",
        ) from problem
    if len(data) > MAX_PROMPT:
        raise BadInput(f"the prompt {name} is longer than {MAX_PROMPT:,} bytes")
    return data.decode("utf-8", "replace")


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its variables filled in one pass: values are never filled again."""

    def unless_empty(found: re.Match[str]) -> str:
        return found[0] if values.get(found[1], "?") else ""

    without = _UNESCAPED.sub(unless_empty, _LINE.sub(unless_empty, template))
    # Empty variables leave gaps; blank lines inside a value are kept.
    whole = braces.fill(
        _GAP.sub("\n\n", without).strip(), lambda name: values.get(name, f"{{{{{name}}}}}")
    )
    return quoted(whole.rstrip() + "\n")


def completed(template: str) -> str:
    """A user's template, with the required variables that it leaves out."""
    named = set(_UNESCAPED.findall(template))
    before = [f"{{{{{name}}}}}\n" for name in ("hook_output", "messages") if name not in named]
    last = ("sent_back", "next_prompt", "done")
    after = [f"\n\n{{{{{name}}}}}" for name in last if name not in named]
    return "".join([*before, template.rstrip(), *after])


def quoted(prompt: str) -> str:
    """A prompt with its promises in code spans, so that repeating it promises nothing."""
    return _PROMISE.sub(lambda found: f"`{found[0]}`", prompt)


def unknown_variables(template: str) -> Iterator[re.Match[str]]:
    """The references in a template to unknown values; their first group is the name."""
    known = {*VARIABLES, *plan_words(apart=True), "task_id", "place", "details", "ahead"}
    return (found for found in _UNESCAPED.finditer(template) if found[1] not in known)


def hook_output(outputs: Sequence[Mapping[str, Any]], nonce: str) -> str:
    """Output of hooks, each under its name."""
    if not outputs:
        return ""
    parts: list[str] = []
    for each in outputs:
        text = _SOURCE.sub(r" \1", "\n".join(capped(str(each["text"])).splitlines())).rstrip()
        parts += [f"[{each['point']}: {short_name(str(each['hook']))}]", text]
    return framed_wishes("What hooks say", "\n".join(parts), nonce) + "\n"


def next_prompt(text: str | None, nonce: str) -> str:
    """What the stop hooks want next."""
    if not text:
        return ""
    # What we say ourselves is not put among the words of others.
    theirs = "\n".join(line for line in text.split("\n") if line != FIX)
    said = f" {FIX}" if theirs != text else ""
    lead = f"# Next\n\nThe work is not done yet.{said}\n\nWhat the checks say"
    return framed_wishes(lead, capped(theirs).rstrip(), nonce) + "\n"


def sent_back(text: str, *, asked: bool = False) -> str:
    """Why the work was sent back, from `continuation.story`; or what was `asked`."""
    if not text:
        return ""
    return told("session", "asked" if asked else "sent-back", why=capped(text).rstrip()) + "\n"


def capped(text: str) -> str:
    """Head and tail of a text that is too long for a prompt; the cut is marked."""
    return without_middle(text, CAP)


def section(title: str, lines: Sequence[str]) -> str:
    """A list under a title; empty if the list is."""
    return "\n".join([f"# {title}", "", *lines, ""]) if lines else ""


def plan_words(*, apart: bool) -> dict[str, str]:
    """What happens to the tasks of a plan: each is done `apart`, or by its planner."""
    how = "apart" if apart else "own"
    return {"if_small": _TEXTS[f"small-{how}"], "after_plan": _TEXTS[f"after-{how}"]}


def ready_tasks(tasks: Mapping[str, Any] | None, *, apart: bool = False) -> str:
    """The tasks that are left: those that can be worked on, then those that wait.

    Where each is done `apart`, in its own session, merged ones are listed too.
    """
    if tasks is None:
        return ""
    left = [*tasks["ready"], *tasks.get("waiting", ())]
    merged = tasks.get("merged", ()) if apart else ()
    lines = [f"- {task['id']} ({_standing(task)}): {line_of(task['goal'])}" for task in left]
    lines += [f"- {task['id']} (merged): {line_of(task['goal'])}" for task in merged]
    title = f"Tasks ({tasks['done']} of {tasks['all']} done)"
    how = _TEXTS["own-tasks"]
    if apart:
        how = " ".join([_TEXTS["tasks-apart"]] * bool(left) + [_TEXTS["merged"]] * bool(merged))
    return section(title, [*lines, "", how] if lines else [])


def _standing(task: Mapping[str, Any]) -> str:
    waits = ", ".join(task.get("waitsFor", ()))
    return f"waits for {waits}" if waits else str(task["state"])


def notes(found: Sequence[Mapping[str, Any]], nonce: str) -> str:
    """Notes of agents and people, oldest first; the oldest are left out if there are too many."""
    lines: list[str] = []
    left = MAX_NOTES
    for each in reversed(found):
        line = f"- {each['kind']}: {line_of(each['text'])}"
        left -= len(line.encode()) + 1
        if left < 0:
            break
        lines.insert(0, line)
    if not lines:
        return ""
    lead = "# Notes\n\nFrom agents and people"
    return framed_wishes(lead, "\n".join(lines), nonce) + "\n"


def history(past: Sequence[Mapping[str, Any]]) -> str:
    """The last iterations in a line each."""
    return section("Iterations so far", [f"- {each['iteration']}: {each['line']}" for each in past])


def messages(texts: Sequence[str]) -> str:
    """What a person sent."""
    return section("A person says", [f"- {indented(text)}" for text in texts])


def opening(situation: str, line: str) -> str:
    """What precedes a recovery or a delivery for an agent that remembers nothing.

    `line` is how its turn went; empty where the recovery says that.
    """
    turn = f"You have had a turn already: {line}\n" if line else ""
    return quoted(f"{situation}\n# This iteration\n\n{turn}".rstrip("\n") + "\n")


class ToldOnce(NamedTuple):
    """What one prompt tells: output of hooks, people's messages, what the stop hooks want next."""

    outputs: Sequence[Mapping[str, Any]] = ()
    messages: Sequence[str] = ()
    next_prompt: str | None = None
    nonce: str = ""

    def values(self) -> dict[str, str]:
        """The variables that say it."""
        return {
            "hook_output": hook_output(self.outputs, self.nonce),
            "messages": messages(self.messages),
            "next_prompt": next_prompt(self.next_prompt, self.nonce),
        }


def recovery(error: str, once: ToldOnce) -> str:
    """The prompt that follows a failed turn, with what only that turn was told."""
    parts = [
        *once.values().values(),
        f"Your last turn broke off: {line_of(error)}\n",
        _TEXTS["recovery"],
    ]
    return said_once(quoted("\n".join(part for part in parts if part)), once.nonce)


def delivery(outputs: Sequence[Mapping[str, Any]], nonce: str, said: Sequence[str] = ()) -> str:
    """What follows the agent's last message: messages of people are work, outputs are data."""
    parts: list[str] = []
    if said:
        parts += [messages(said), _TEXTS["person-said"] + "\n"]
    if outputs:
        parts += [hook_output(outputs, nonce), _TEXTS["came-in"] + "\n"]
    return quoted("\n".join([*parts, _TEXTS["promise-again"]]) + "\n")


def code(name: str) -> str:
    """A name or a pattern in one line, as a code span unless something in it would end that.

    Commands are shown in another form, in which nothing is cut: `hooks/told_commands.py`.
    """
    shown = line_of(name, SHOWN_OF_NAME)
    return shown if "`" in shown or _PROMISE.search(shown) else f"`{shown}`"

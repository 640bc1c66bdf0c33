"""What an agent is told: the prompt of an iteration and of each message in between."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from hookline.domain.taskpage import indented
from hookline.errors import BadInput
from hookline.files import read_regular
from hookline.hooks.framing import framed_wishes
from hookline.hooks.names import short_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

VARIABLES = {
    "hook_output": "what hooks have for the agent, framed; nothing where there is none",
    "messages": "what a person sent with `hookline session message`",
    "session": "the session's name",
    "iteration": "the iteration's number, from 1",
    "iterations": "the most iterations that there will be",
    "goal": "what is to be done",
    "task": "the session's task: its id and goal",
    "ready_tasks": "tasks of this session that are left: what can be worked on, then what waits",
    "notes": "notes on the task, of its sessions, and of people for all tasks, framed",
    "history": "what the last iterations did",
    "sent_back": "why the work was sent back, or what a person was asked; in one prompt",
    "next_prompt": "what the stop hooks want the agent to do next",
    "role": "the prompt file of the agent's profile",
    "done": "what done means: branch, deliverables, checks, gates, git rules, how to end",
}

_DEFAULT = """\
{{hook_output}}
{{messages}}
{{role}}
# Goal

{{goal}}

{{sent_back}}
{{next_prompt}}
{{ready_tasks}}
{{notes}}
{{history}}
# How to work

This is iteration {{iteration}} of at most {{iterations}} of session `{{session}}`. Nobody answers \
questions: decide for yourself, work in small steps, and verify what you did.
NEXT

{{done}}
"""
_NOTES = """\
Leave what the next iteration must know as a note: the tool `note_add`, or \
`hookline note add --kind learning|stuck|tip|decision TEXT`."""
_LAST = "This is the last iteration: what is left after it goes to a person."
DEFAULT, DEFAULT_LAST = (_DEFAULT.replace("NEXT", each) for each in (_NOTES, _LAST))

PLAN = """\
{{role}}
# Goal

{{goal}}

{{details}}

# Plan first

This turn only plans: change no file. Look at the project, and split the goal into tasks below \
{{task_id}}. Each must be small enough to be done and verified on its own. Say in the goal of each \
how to verify it. If the goal is small, one task is enough.

Add the tasks with their dependencies: the tools `task_create` and `dep_add`, or \
`hookline task add GOAL --parent {{task_id}} --depends-on ID`. A person may change the plan. After \
that you will do the tasks yourself. End with a short summary of the plan. Promise nothing in this \
turn.
"""

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_LINE = re.compile(rf"^{_VARIABLE.pattern}\n", re.MULTILINE)
_GAP = re.compile(r"\n{3,}")
_PROMISE = re.compile(r"(?<!`)<promise\s*>\s*\w+\s*</promise\s*>(?!`)")
# Lines of an output that could pass for the name of another hook.
_SOURCE = re.compile(r"^(\[\w+: )", re.MULTILINE)
MAX_PROMPT = 256 * 1024
SHOWN_OF_TEXT = 600
CAP = 32 * 1024
MAX_NOTES = 8 * 1024


def read(root: str, name: str) -> str:
    """A prompt's file; BadInput if it cannot be one."""
    try:
        data = read_regular(os.path.join(root, name), MAX_PROMPT + 1)
    except (OSError, ValueError) as problem:  # a name can hold what no path can
        raise BadInput(
            f"the prompt {name} cannot be read: {getattr(problem, 'strerror', problem)}",
            help="correct `prompt:` in hookline.yaml, or write the file",
        ) from problem
    if len(data) > MAX_PROMPT:
        raise BadInput(f"the prompt {name} is longer than {MAX_PROMPT:,} bytes")
    return data.decode("utf-8", "replace")


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its variables, in one pass: what a value holds is never filled again."""

    def unless_empty(found: re.Match[str]) -> str:
        return found[0] if values.get(found[1], "?") else ""

    without = _VARIABLE.sub(unless_empty, _LINE.sub(unless_empty, template))
    # Gaps are what empty variables leave behind; blank lines of a value are its own.
    whole = _VARIABLE.sub(
        lambda found: values.get(found[1], found[0]), _GAP.sub("\n\n", without).strip()
    )
    return quoted(whole.rstrip() + "\n")


def completed(template: str) -> str:
    """A user's template, with what an agent must hear in any case where it leaves that out."""
    named = set(_VARIABLE.findall(template))
    before = [f"{{{{{name}}}}}\n" for name in ("hook_output", "messages") if name not in named]
    last = ("sent_back", "next_prompt", "done")
    after = [f"\n\n{{{{{name}}}}}" for name in last if name not in named]
    return "".join([*before, template.rstrip(), *after])


def quoted(prompt: str) -> str:
    """A prompt whose promises stand in code spans: who only repeats it has promised nothing."""
    return _PROMISE.sub(lambda found: f"`{found[0]}`", prompt)


def unknown_variables(template: str) -> Iterator[re.Match[str]]:
    """The places in a template that name no value; their first group is the name."""
    known = {*VARIABLES, "task_id", "details"}
    return (found for found in _VARIABLE.finditer(template) if found[1] not in known)


def hook_output(outputs: Sequence[Mapping[str, Any]], nonce: str) -> str:
    """Output of hooks, each under its name."""
    if not outputs:
        return ""
    parts: list[str] = []
    for each in outputs:
        text = _SOURCE.sub(r" \1", "\n".join(capped(str(each["text"])).splitlines())).rstrip()
        parts += [f"[{each['point']}: {short_name(str(each['hook']))}]", text]
    return framed_wishes("What hooks of this project say", "\n".join(parts), nonce) + "\n"


def next_prompt(text: str | None, nonce: str) -> str:
    """What the stop hooks want next."""
    if not text:
        return ""
    lead = "# Next\n\nThe work is not done yet. What its checks say"
    return framed_wishes(lead, capped(text).rstrip(), nonce) + "\n"


def sent_back(text: str, *, asked: bool = False) -> str:
    """Why the work was sent back, as `continuation.story` tells it; or what was `asked`."""
    if not text:
        return ""
    if asked:
        lead = (
            "An earlier session on this task stopped to ask a person. That person has since let the"
            " task go on. Look for an answer in the goal, the notes and the messages."
        )
        return f"# Asked before\n\n{lead}\n\n{capped(text).rstrip()}\n"
    lead = "This work was sent back. Fix what was found before anything else."
    return f"# Sent back\n\n{lead}\n\n{capped(text).rstrip()}\n"


def capped(text: str) -> str:
    """Head and tail of a text that is too long for a prompt; the cut is marked."""
    data = text.encode("utf-8", "replace")
    if len(data) <= CAP + 200:
        return text
    half = CAP // 2
    head, tail = data[:half].decode("utf-8", "ignore"), data[-half:].decode("utf-8", "ignore")
    return f"{head}\n… {len(data) - 2 * half} bytes left out …\n{tail}"


def section(title: str, lines: Sequence[str]) -> str:
    """A list under a title; nothing where the list is empty."""
    return "\n".join([f"# {title}", "", *lines, ""]) if lines else ""


def ready_tasks(tasks: Mapping[str, Any]) -> str:
    """The tasks that are left: those that can be worked on, then those that wait."""
    left = [*tasks["ready"], *tasks.get("waiting", ())]
    lines = [f"- {task['id']} ({_standing(task)}): {one_line(task['goal'])}" for task in left]
    title = f"Tasks ({tasks['done']} of {tasks['all']} done)"
    how = (
        "Mark each task when it is done: the tool `task_complete`, or `hookline task complete ID`."
        " Promise COMPLETE only when all of them are done."
    )
    return section(title, [*lines, "", how] if lines else [])


def _standing(task: Mapping[str, Any]) -> str:
    waits = ", ".join(task.get("waitsFor", ()))
    return f"waits for {waits}" if waits else str(task["state"])


def notes(found: Sequence[Mapping[str, Any]], nonce: str) -> str:
    """What agents and people noted, oldest first; the oldest are left out where it is too much."""
    lines: list[str] = []
    left = MAX_NOTES
    for each in reversed(found):
        line = f"- {each['kind']}: {one_line(each['text'])}"
        left -= len(line.encode()) + 1
        if left < 0:
            break
        lines.insert(0, line)
    if not lines:
        return ""
    lead = "# Notes\n\nWhat agents and people noted"
    return framed_wishes(lead, "\n".join(lines), nonce) + "\n"


def history(past: Sequence[Mapping[str, Any]]) -> str:
    """The last iterations in a line each."""
    return section("Iterations so far", [f"- {each['iteration']}: {each['line']}" for each in past])


def messages(texts: Sequence[str]) -> str:
    """What a person sent."""
    return section("A person says", [f"- {indented(text)}" for text in texts])


def opening(situation: str, line: str) -> str:
    """What comes before a recovery or a delivery where the agent remembers nothing.

    `line` is how its turn went; nothing where the recovery says that.
    """
    turn = f"You have had a turn in it: {line}\n" if line else ""
    return quoted(f"{situation}\n# This iteration\n\n{turn}".rstrip("\n") + "\n")


def recovery(
    error: str, outputs: Sequence[Mapping[str, Any]], nonce: str, told_before: str = ""
) -> str:
    """The prompt that follows a failed turn; `told_before` is what that one was told once."""
    parts = [
        hook_output(outputs, nonce),
        told_before,
        f"Your last turn broke off: {one_line(error)}\n",
        "Continue it: find out what is half done, put it right, and finish what you were asked to"
        " do. End this turn like any other.",
    ]
    return quoted("\n".join(part for part in parts if part))


def delivery(outputs: Sequence[Mapping[str, Any]], nonce: str) -> str:
    """Output that is delivered outside of an iteration."""
    told = "\n".join(
        [
            hook_output(outputs, nonce),
            "This came in after your last message. If something in it needs fixing, fix it now."
            " Start nothing new. If you promised COMPLETE, that still counts: you need not repeat"
            " it. If it is no longer true and you cannot fix that now, say why and end with"
            " `<promise>BLOCKED</promise>`.",
        ]
    )
    return quoted(told)


def code(line: str, width: int = 300) -> str:
    """A command in one line, as a code span unless something in it would end that."""
    shown = one_line(line, width)
    return shown if "`" in shown or _PROMISE.search(shown) else f"`{shown}`"


def one_line(text: str, width: int = SHOWN_OF_TEXT) -> str:
    """A text in one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"

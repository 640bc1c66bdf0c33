"""Every tool: its name, what it is for in the agent's words, what it takes, what carries it out.

The words are short because an agent reads all of them in every turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.surfaces.mcp import arguments as a
from hookline.surfaces.mcp import loop_tools as loop
from hookline.surfaces.mcp import task_tools as task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Tool(NamedTuple):
    """A tool. Those of the core are what an agent in a loop needs; a reader changes nothing."""

    summary: str
    arguments: type[a.Arguments]
    run: Callable[[Any, Any], Any | Awaitable[Any]]
    core: bool = True
    reads: bool = False
    output: dict[str, Any] | None = None


def _object(**properties: str) -> dict[str, Any]:
    """The schema of an object whose fields are all there."""
    fields = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": fields, "required": list(fields)}


TOOLS: dict[str, Tool] = {
    "task_get": Tool(
        "A task: goal, state, dependencies, subtasks, registered hooks. Call it first.",
        a.TaskId,
        task.task_get,
        reads=True,
    ),
    "hook_register": Tool(
        "Register a stop hook that decides after each iteration of the task whether you are done:"
        " default checks promises, then validation rules. Hooks are asked in the order of"
        " registration until one says complete or escalate.",
        a.HookRegister,
        loop.hook_register,
        output=_object(
            hookId="string",
            taskId="string",
            hookType="string",
            enabled="boolean",
            metadata="object",
        ),
    ),
    "hook_evaluate": Tool(
        "Ask the stop hooks about the current iteration. iteration_validate does it for you.",
        a.IterationReport,
        loop.hook_evaluate,
        output=_object(
            hookId="string",
            taskId="string",
            iteration="integer",
            action="string",
            reason="string",
            checkpointCreated="boolean",
            metadata="object",
        ),
    ),
    "hook_list": Tool(
        "The stop hooks that you registered for a task.", a.TaskId, loop.hook_list, reads=True
    ),
    "hook_clear": Tool(
        "Remove the stop hooks that you registered for a task, when its loop ends. Hooks of the"
        " project stay.",
        a.TaskId,
        loop.hook_clear,
        output=_object(taskId="string", hooksCleared="integer"),
    ),
    "iteration_start": Tool(
        "Begin a loop on a task; the answer has the iterationId. Validation rules of the project"
        " run besides yours.",
        a.IterationStart,
        loop.iteration_start,
    ),
    "iteration_validate": Tool(
        "After each round of work: runs the validation rules, asks the stop hooks and returns"
        " completionSignal. CONTINUE: follow nextPrompt, then iteration_next. COMPLETE:"
        " iteration_complete. ESCALATE: task_block.",
        a.IterationReport,
        loop.iteration_validate,
    ),
    "iteration_next": Tool(
        "Begin the next iteration of a loop. Refused at a limit: then stop and call task_block.",
        a.IterationId,
        loop.iteration_next,
    ),
    "iteration_complete": Tool(
        "End a loop and clear its registered hooks, once the completionSignal is COMPLETE.",
        a.IterationComplete,
        loop.iteration_complete,
    ),
    "task_create": Tool(
        "Add a task, for example a part of your own.", a.TaskCreate, task.task_create
    ),
    "task_list": Tool(
        "Tasks that are not finished, or those of a state.", a.TaskList, task.task_list, reads=True
    ),
    "task_next": Tool("The best task that is ready to be worked on.", a.TaskNext, task.task_next),
    "task_update": Tool(
        "Change a task's fields, add a note to it, or change its state.",
        a.TaskUpdate,
        task.task_update,
    ),
    "task_complete": Tool("Say that a task is done.", a.TaskComplete, task.task_complete),
    "task_block": Tool(
        "Say that a task cannot go on, and what a person must provide.",
        a.TaskBlock,
        task.task_block,
    ),
    "dep_add": Tool(
        "Let taskId wait until dependsOn is completed.", a.DepAdd, task.dep_add, core=False
    ),
    "note_add": Tool(
        "Write down for the next iteration what you learnt, decided, or are stuck on; without a"
        " taskId it is for all tasks.",
        a.NoteAdd,
        task.note_add,
    ),
    "note_list": Tool(
        "Notes of earlier iterations and sessions.", a.NoteList, task.note_list, reads=True
    ),
    "checkpoint_create": Tool(
        "Keep where you stand in a task, before something risky or when you must stop.",
        a.CheckpointCreate,
        task.checkpoint_create,
        core=False,
    ),
    "checkpoint_list": Tool(
        "The checkpoints of a task.", a.TaskId, task.checkpoint_list, core=False, reads=True
    ),
    "checkpoint_get": Tool(
        "A whole checkpoint.", a.CheckpointId, task.checkpoint_get, core=False, reads=True
    ),
    "checkpoint_resume": Tool(
        "Go on from a checkpoint: its data, and what to do. Expired ones are refused.",
        a.CheckpointId,
        task.checkpoint_resume,
        core=False,
    ),
    "session_complete": Tool(
        "Promise that your session's work is done. Refused while tasks of the session are open.",
        a.SessionComplete,
        task.session_complete,
    ),
    "events_tail": Tool(
        "The newest events of the log.", a.EventsTail, task.events_tail, core=False, reads=True
    ),
}


# What an agent needs while its session runs the loop: tasks, notes, and a stricter end if it wants.
SESSION = (
    *("task_get", "task_create", "task_list", "task_update", "task_complete", "task_block"),
    *("dep_add", "note_add", "note_list", "session_complete", "hook_register", "hook_clear"),
)
# The loop that an agent runs by itself; in a session there is another one already.
LOOP = frozenset(name for name in TOOLS if name.startswith("iteration_")) | {"hook_evaluate"}


def chosen(which: str) -> dict[str, Tool]:
    """The tools of a set: `session`, `core` or `all`."""
    if which == "session":
        return {name: TOOLS[name] for name in SESSION}
    return {name: tool for name, tool in TOOLS.items() if which == "all" or tool.core}

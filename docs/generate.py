"""Writes the generated parts of the documentation: `python -m docs.generate [--check]`.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`; all other text is by hand.
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import inspect

from docs import reference
from docs.typescript import typescript
from hookline.domain.tasks import CREATED, STATES, TRANSITIONS
from hookline.points import POINTS, VARIABLES
from hookline.sessions.told import prompts
from hookline.surfaces.cli.main import COMMANDS, GROUPS
from hookline.surfaces.mcp.tools import SESSION, TOOLS
from hookline.surfaces.web import description
from hookline.surfaces.web.routes import ROUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hookline.points import Point
    from hookline.surfaces.cli.command import Command
    from hookline.surfaces.mcp.tools import Tool

HERE = Path(__file__).parent
PAGES = (
    *("architecture.md", "cli.md", "configuration.md", "events.md", "mcp.md", "points.md"),
    *("page.md", "sessions.md"),
)
_PART = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def render(page: str) -> str:
    """The text of a page with its generated parts as they should be now."""
    text = (HERE / page).read_text(encoding="utf-8")
    return _PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n{found[3]}", text)


def main(argv: list[str]) -> int:
    """Write the pages and files that are not current, or only name them."""
    whole = {name: make() for name, make in FILES.items()}
    now = {**{page: render(page) for page in PAGES}, **whole}
    stale = [name for name, text in now.items() if text != _written(HERE / name)]
    for name in stale:
        print(f"docs/{name} {'is not current' if '--check' in argv else 'was written'}")
        if "--check" not in argv:
            (HERE / name).parent.mkdir(parents=True, exist_ok=True)
            (HERE / name).write_text(now[name], encoding="utf-8")
    return 1 if stale and "--check" in argv else 0


def _written(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _code(text: str) -> str:
    return f"`{text}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# The life of a task


def states() -> str:
    """The table of transitions as a Mermaid state diagram."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for verb, (sources, targets, _) in TRANSITIONS.items():
        for source in (each for each in STATES if each in sources and each not in targets):
            for target in targets:
                arrows.setdefault((source, target), []).append(verb)
    lines = [f"    {a} --> {b}: {', '.join(verbs)}" for (a, b), verbs in arrows.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", f"    [*] --> {CREATED}", *lines, "```", ""])


def transitions() -> str:
    """The same table as a table."""
    rows = [
        (
            _code(verb),
            ", ".join(state for state in STATES if state in sources),
            " or ".join(targets),
            _code(event),
        )
        for verb, (sources, targets, event) in TRANSITIONS.items()
    ]
    return _table(("verb", "from", "to", "event"), rows) + "\n"


# Hook points


def point_list() -> str:
    """Every point on one line."""
    rows = [
        (
            f"[`{point.name}`](#{point.name})",
            point.rule,
            "now" if point.fires else "later",
            f"{point.timeout:g} s",
            point.doc,
        )
        for point in POINTS.values()
    ]
    return _table(("point", "rule", "fires", "timeout", "when"), rows) + "\n"


def point_details() -> str:
    """Every point with its payload and variables."""
    return "\n".join(_point(point) for point in POINTS.values())


def _point(point: Point) -> str:
    fires = "fires now" if point.fires else "declared and checked; does not fire in this version"
    carries = "event data" if "event_type" in point.variables else "payload"
    fields = [(_code(n), _cell(_code(kind))) for n, kind, _ in payload_fields(point.payload)]
    parts = [
        f"### {point.name}",
        "",
        point.doc,
        "",
        f"Rule {point.rule}; timeout {point.timeout:g} s; {fires}.",
        "",
        _table((carries, "type"), fields) if fields else f"The {carries} has no field.",
        "",
        "Variables: " + ", ".join(_code(name) for name in point.variables) + ".",
        "",
    ]
    return "\n".join(parts)


def payload_fields(name: str) -> Iterator[tuple[str, str, bool]]:
    """The fields of a payload as they stand in JSON: name, type, whether it is always there."""
    payloads = import_module("hookline.domain.payloads")
    kind = getattr(payloads, name)
    for field in msgspec.structs.fields(kind):
        yield field.encode_name, reference.json_type(inspect.type_info(field.type)), field.required


def variables() -> str:
    """Every template variable."""
    rows = [
        (_code("{{" + v.name + "}}"), _code(v.env), "free text" if v.free else "an id", v.doc)
        for v in VARIABLES.values()
    ]
    return _table(("variable", "environment", "value", "meaning"), rows) + "\n"


# Events


def event_types() -> str:
    """Every type that Hookline itself writes, with an example of its data."""
    rows = [
        (_code(name), _code(_cell(example)), POINTS[name].doc)
        for name, example in reference.EVENT_EXAMPLES.items()
    ]
    return _table(("type", "data", "when"), rows) + "\n"


# Commands


def commands() -> str:
    """Every command with its arguments."""
    parts = []
    for name, (module, table, summary) in COMMANDS.items():
        found = getattr(import_module(f"hookline.surfaces.cli.{module}"), table)
        if name in GROUPS:
            parts += [f"### hookline {name}", "", f"{summary.capitalize()}.", ""]
            parts += [_command(f"{name} {verb}", each, "####") for verb, each in found.items()]
        else:
            parts.append(_command(name, found[name], "###"))
    return "\n".join(parts)


def _command(name: str, command: Command, level: str) -> str:
    parser = argparse.ArgumentParser(add_help=False)
    command.arguments(parser)
    rows = [(_code(_cell(_spelling(a))), _cell(_meaning(a))) for a in parser._actions]
    summary = command.summary[0].upper() + command.summary[1:]
    lines = [f"{level} hookline {name}", "", f"{summary}.", ""]
    return "\n".join([*lines, _table(("argument", "meaning"), rows), ""] if rows else lines)


def _spelling(action: argparse.Action) -> str:
    value = str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper())
    if not action.option_strings:
        return value
    longest = max(action.option_strings, key=len)
    return longest if action.nargs == 0 else f"{longest} {value}"


def _meaning(action: argparse.Action) -> str:
    short = [each for each in action.option_strings if not each.startswith("--")]
    words = [action.help or ""]
    if short:
        words.append(f"short: {_code(short[0])}")
    if action.required and action.option_strings:
        words.append("required")
    return "; ".join(word for word in words if word)


# Sessions, and the tools of their agents


def prompt_variables() -> str:
    """What a template of one's own can hold."""
    rows = [(_code("{{" + name + "}}"), _cell(doc)) for name, doc in prompts.VARIABLES.items()]
    return _table(("variable", "what it becomes"), rows) + "\n"


def tools() -> str:
    """Every tool of the MCP server, with what it takes."""
    rows = [
        (_code(name), _sets(name, tool), _inputs(tool), _cell(tool.summary))
        for name, tool in TOOLS.items()
    ]
    return _table(("tool", "set", "input", "does"), rows) + "\n"


def _sets(name: str, tool: Tool) -> str:
    """The sets that a tool is in, besides all."""
    sets = {"session": name in SESSION, "core": tool.core}
    return ", ".join(each for each, has in sets.items() if has) or "all"


def _inputs(tool: Tool) -> str:
    fields = msgspec.structs.fields(tool.arguments)
    return ", ".join(_code(f.encode_name if f.required else f"{f.encode_name}?") for f in fields)


# Configuration


def configuration() -> str:
    """Every key of hookline.yaml, a table for each section."""
    return "\n".join(reference.sections(_table))


# The API of the page


def routes() -> str:
    """Every address of the API."""
    rows = [
        (
            _code(f"{route.method} {route.path}"),
            "people" if route.decided else "all",
            _cell(route.doc),
        )
        for route in ROUTES
    ]
    return _table(("address", "for", "what"), rows) + "\n"


def api() -> str:
    """The API as OpenAPI."""
    return msgspec.json.format(msgspec.json.encode(description.openapi())).decode() + "\n"


PARTS: dict[str, Callable[[], str]] = {
    "states": states,
    "transitions": transitions,
    "point-list": point_list,
    "point-details": point_details,
    "variables": variables,
    "event-types": event_types,
    "commands": commands,
    "prompt-variables": prompt_variables,
    "tools": tools,
    "configuration": configuration,
    "routes": routes,
}
# Files that are written as a whole.
FILES: dict[str, Callable[[], str]] = {
    "openapi.json": api,
    "../web/src/api/schema.ts": typescript,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

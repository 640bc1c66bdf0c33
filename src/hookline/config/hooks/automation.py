"""data/automation-hooks.json: switches and priorities of built-in hooks."""

from __future__ import annotations

import json

from hookline.config.reading.convert import INVALID, Converter
from hookline.config.reading.nodes import Mapping, Node, Sequence, parse
from hookline.config.reading.problems import Mark, Problems
from hookline.config.reading.source import ConfigFile, read_text
from hookline.config.settings import Tuning
from hookline.config.types import AutomationHook
from hookline.errors import did_you_mean
from hookline.hooks.builtin import REACT_BUILTINS


def read_automation(source: ConfigFile, report: Problems) -> dict[str, Tuning]:
    """How the file tunes built-in hooks, by name; event types in it change nothing."""
    text = read_text(source, report)
    if text is None or not _is_json(text, source.file, report):
        return {}
    # JSON is YAML except for tabs between tokens; a blank in their place keeps every column.
    tree = parse(text.replace("\t", " "), source.file, report)
    hooks = tree.get("hooks") if isinstance(tree, Mapping) else None
    if not isinstance(hooks, Sequence):
        wrong = hooks or tree
        mark = wrong.mark if wrong else Mark(source.file)
        report.error("wrong-type", mark, "the file must be an object with a list 'hooks'")
        return {}
    found: dict[str, Tuning] = {}
    for index, item in enumerate(hooks.items):
        hook = Converter(report).convert(item, AutomationHook, f"hooks[{index}]")
        if hook is not INVALID and _is_known(hook.name, item, report):
            found[hook.name] = Tuning(hook.enabled, hook.priority, str(item.mark))
    return found


def _is_json(text: str, file: str, report: Problems) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError as bad:
        mark = Mark(file, bad.lineno, bad.colno, 1)
        report.error("syntax", mark, f"this is not JSON: {bad.msg}")
    except RecursionError:
        report.error("too-deep", Mark(file), "this is nested too deeply")
    else:
        return True
    return False


def _is_known(name: str, item: Node, report: Problems) -> bool:
    if name not in REACT_BUILTINS:
        named = item.get("name") if isinstance(item, Mapping) else None
        report.warning(
            "unknown-hook",
            (named or item).mark,
            f"no built-in hook is called '{name}'",
            help=did_you_mean(name, REACT_BUILTINS, "define your own hooks in hookline.yaml"),
            consequence="this has no effect",
        )
    return name in REACT_BUILTINS

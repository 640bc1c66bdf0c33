"""The `when` language: a small, safe expression over a hook's payload.

The configuration check and the dispatcher call it, and only for a hook that has a `when`.
Anything but plain data, comparisons and listed functions is refused before anything runs.
"""

from __future__ import annotations

import ast
import operator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.records import FAILED, SKIPPED, Outcome
from hookline.domain.text.display import line_of, shortened
from hookline.errors import HookFailure
from hookline.hooks.language import grammar
from hookline.hooks.language.globs import glob_match as glob_match
from hookline.hooks.language.globs import matches_any, text_match
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hookline.domain.hooks.condition_fields import Fields

    Value = Callable[[Any], Any]

MAX_JOINED = 100_000
MAX_VALUE_TEXT = 200
MAX_VALUE_ITEMS = 20
MAX_VALUE_DEPTH = 2
MAX_VALUES = 50
# More conditions than a project has: each is read once per process.
MAX_KEPT = 4096


class Evaluated(msgspec.Struct, frozen=True):
    """Whether a condition holds, and the values of its parts as far as they were looked at."""

    met: bool
    values: dict[str, Any]


class Condition(Immutable):
    """A condition that was read: its text, its tree, and the functions that it calls."""

    text: str
    tree: ast.expr
    calls: frozenset[str]


@lru_cache(maxsize=MAX_KEPT)
def compiled(expression: str) -> Condition:
    """The condition, read once per process; grammar.RefusedError for one that cannot be read."""
    tree = grammar.parse(expression)
    calls = frozenset(grammar.called_name(node) for node in ast.walk(tree)) - {""}
    return Condition(expression.strip(), tree, calls)


# What the configuration check asks.


def check(expression: str, known: Mapping[str, Fields | None]) -> str | None:
    """What is wrong with an expression over data of this shape, or None."""
    try:
        condition = _checked(expression, frozenset(known), frozenset(grammar.FUNCTIONS))
    except grammar.RefusedError as problem:
        return str(problem)
    wrong = grammar.unknown_fields(condition.text, condition.tree, known)
    return next((each.problem for each in wrong if not each.is_open), None)


def doubts(expression: str, known: Mapping[str, Fields | None]) -> list[str]:
    """Fields of a valid expression that are probably misspelled, where others are possible."""
    condition = compiled(expression)
    found = grammar.unknown_fields(condition.text, condition.tree, known)
    return [each.problem for each in found if each.is_open and each.is_near]


def uses(expression: str, function: str) -> bool:
    """Whether the expression calls this function; False for one that cannot be read."""
    try:
        return function in compiled(expression).calls
    except grammar.RefusedError:
        return False


def needs_changes(expression: str) -> bool:
    """Whether a condition has to ask git."""
    return "changed" in expression and uses(expression, "changed")


@lru_cache(maxsize=MAX_KEPT)
def _checked(expression: str, names: frozenset[str], functions: frozenset[str]) -> Condition:
    condition = compiled(expression)
    grammar.check_words(condition.text, condition.tree, names, functions)
    return condition


# What the dispatcher asks.


def evaluate(
    expression: str, scope: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
) -> Evaluated:
    """Whether the condition holds for this plain JSON data; HookFailure if it cannot be evaluated.

    `functions` adds to the built-in ones. A name of `scope` that is also a called function, such
    as the list of files behind `changed()`, is shown among the values.
    """
    offered = {**_BUILT_IN, **functions}
    try:
        condition = _checked(expression, frozenset(scope), frozenset(offered))
    except grammar.RefusedError as problem:
        text = _one_line(expression.strip())
        raise HookFailure(f"`when: {text}` cannot be evaluated: {problem}") from problem
    return _Evaluation(condition.text, scope, offered).verdict(condition.tree)


def condition_holds(when: str, payload: Mapping[str, Any]) -> Evaluated:
    """Whether a hook's condition holds for what its call sees; HookFailure as in `evaluate`."""
    return evaluate(when, payload, {"changed": changed_in(payload.get("changed", ()))})


def held_back(hook: str, when: str, payload: Mapping[str, Any]) -> Outcome | Evaluated:
    """The verdict of a hook's condition that holds, else the outcome of a hook not called."""
    try:
        verdict = condition_holds(when, payload)
    except HookFailure as problem:
        return Outcome(hook, FAILED, None, problem.message)
    return verdict if verdict.met else Outcome(hook, SKIPPED, values=verdict.values)


class _Evaluation:
    """One evaluation: the values of a tree's parts, those that explain the verdict kept."""

    def __init__(
        self, text: str, scope: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> None:
        self._text, self._scope, self._functions = text, scope, functions
        self._values: dict[str, Any] = {}

    def verdict(self, tree: ast.expr) -> Evaluated:
        """The answer for a tree that was checked before."""
        try:
            met = bool(self._value(tree))
        except RecursionError as problem:
            raise self._failure(tree, "the data is nested too deeply") from problem
        return Evaluated(met, self._values)

    def _value(self, node: Any) -> Any:
        if isinstance(node, grammar.CHAIN):
            return self._chain(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        try:
            return _VALUES[type(node)](self._value, node)
        except (TypeError, ValueError, ArithmeticError) as problem:
            raise self._failure(node, _short(str(problem))) from problem

    def _chain(self, node: ast.expr) -> Any:
        links: list[ast.Attribute | ast.Subscript] = []
        base = node
        while isinstance(base, ast.Attribute | ast.Subscript):
            links.append(base)
            base = base.value
        value = self._scope[base.id] if isinstance(base, ast.Name) else self._value(base)
        for link in reversed(links):
            value = self._step(value, link)
        self._record(_source(self._text, node), value)
        return value

    def _step(self, value: Any, link: ast.Attribute | ast.Subscript) -> Any:
        key = link.attr if isinstance(link, ast.Attribute) else self._value(link.slice)
        whole = _source(self._text, link.value)
        if isinstance(link, ast.Attribute) and not isinstance(value, dict):
            raise self._failure(link, f"{whole} is {_kind(value)} and has no '{key}'")
        if isinstance(value, dict) and isinstance(key, str):
            if key not in value:
                near = grammar.nearest(key, map(str, value))
                has = grammar.listed(f"names in {whole}", map(str, value))
                raise self._failure(link, f"there is no '{key}' in {whole}{near}; {has}")
            return value[key]
        try:
            return value[key]
        except (TypeError, LookupError, ValueError) as problem:
            raise self._failure(link, f"{whole} is {_kind(value)}: {problem}") from problem

    def _call(self, node: ast.Call) -> Any:
        name = grammar.called_name(node)
        arguments = [self._value(each) for each in node.args]
        try:
            result = self._functions[name](*arguments)
        except Exception as problem:  # whatever a function raises, the hook failed
            said = _short(str(problem)) or type(problem).__name__
            raise self._failure(node, said) from problem
        self._record(_source(self._text, node), result)
        if name in self._scope:
            self._record(name, self._scope[name])
        return result

    def _record(self, part: str, value: Any) -> None:
        if len(self._values) < MAX_VALUES:
            self._values[part] = _cut(value)

    def _failure(self, node: ast.AST, problem: str) -> HookFailure:
        names = grammar.listed("names", self._scope)
        part = _one_line(_source(self._text, node))
        when = _one_line(self._text)
        return HookFailure(f"`when: {when}` failed at `{part}`: {problem}; {names}")


@lru_cache(maxsize=MAX_KEPT)
def _source(text: str, node: ast.AST) -> str:
    return ast.get_source_segment(text, node) or ""


def _kind(value: object) -> str:
    for kind, name in (
        (bool, "a truth value"),
        (str, "text"),
        (list, "a list"),
        (dict, "an object"),
        (int | float, "a number"),
    ):
        if isinstance(value, kind):
            return name
    return "null" if value is None else type(value).__name__


def _short(text: str) -> str:
    return shortened(text, MAX_VALUE_TEXT)


def _one_line(text: str) -> str:
    return line_of(text, MAX_VALUE_TEXT).encode(errors="backslashreplace").decode()


def _cut(value: Any, depth: int = 1) -> Any:
    """The value as JSON data small enough to be kept with every record."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) < grammar.MAX_NUMBER else "a very large number"
    if isinstance(value, list | tuple | dict) and depth > MAX_VALUE_DEPTH:
        return "…"
    if isinstance(value, dict):
        items = [
            (_short(str(key)), _cut(value[key], depth + 1))
            for key in islice(value, MAX_VALUE_ITEMS)
        ]
        return dict(items) | ({"…": _more(value)} if len(value) > MAX_VALUE_ITEMS else {})
    if isinstance(value, list | tuple):
        shown = [_cut(each, depth + 1) for each in value[:MAX_VALUE_ITEMS]]
        return shown + ([_more(value)] if len(value) > MAX_VALUE_ITEMS else [])
    return _short(value) if isinstance(value, str) else type(value).__name__


def _more(values: Collection[Any]) -> str:
    return f"… and {len(values) - MAX_VALUE_ITEMS} more"


# Operators, with bounds that keep a hostile expression short of time and memory.


def _arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise TypeError(f"cannot calculate with {_kind(left)} and {_kind(right)}")
        result = function(left, right)
        if abs(result) >= grammar.MAX_NUMBER:
            raise OverflowError("the number is too large")
        return result

    return apply


def _add(left: Any, right: Any) -> Any:
    if type(left) not in (str, list) or type(left) is not type(right):
        return _add_numbers(left, right)
    if len(left) + len(right) > MAX_JOINED:
        raise ValueError(f"the result would be longer than {MAX_JOINED}")
    return left + right


def _contains(item: Any, container: Any) -> bool:
    if not isinstance(container, str | list | tuple | dict):
        raise TypeError(f"'in' looks into text, a list or an object, not {_kind(container)}")
    return item in container


_add_numbers = _arithmetic(operator.add)
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: _contains,
    ast.NotIn: lambda item, container: not _contains(item, container),
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Add: _add,
    ast.Sub: _arithmetic(operator.sub),
    ast.Mult: _arithmetic(operator.mul),
    ast.Div: _arithmetic(operator.truediv),
    ast.FloorDiv: _arithmetic(operator.floordiv),
    ast.Mod: _arithmetic(operator.mod),
}


# What the parts of a tree are worth; `value` gives the worth of their own parts.


def _logic(value: Value, node: ast.BoolOp) -> Any:
    decides = isinstance(node.op, ast.Or)
    for part in node.values:
        result = value(part)
        if bool(result) is decides:
            break
    return result


def _compare(value: Value, node: ast.Compare) -> Any:
    result, left = True, value(node.left)
    for kind, part in zip(node.ops, node.comparators, strict=True):
        right = value(part)
        result = _OPERATORS[type(kind)](left, right)
        if not result:
            break
        left = right
    return result


_VALUES: dict[type[ast.AST], Callable[[Value, Any], Any]] = {
    ast.Constant: lambda value, node: node.value,
    ast.BoolOp: _logic,
    ast.Compare: _compare,
    ast.UnaryOp: lambda value, node: _OPERATORS[type(node.op)](value(node.operand)),
    ast.BinOp: lambda value, node: _OPERATORS[type(node.op)](value(node.left), value(node.right)),
    ast.IfExp: lambda value, node: value(node.body if value(node.test) else node.orelse),
    ast.List: lambda value, node: [value(each) for each in node.elts],
    ast.Tuple: lambda value, node: tuple(value(each) for each in node.elts),
    ast.Dict: lambda value, node: {
        value(key): value(each) for key, each in zip(node.keys, node.values, strict=True)
    },
    ast.Slice: lambda value, node: slice(
        *(part and value(part) for part in (node.lower, node.upper, node.step))
    ),
}


# Functions. `changed` is the caller's, because only the caller knows which files changed.


def changed_in(paths: Collection[str]) -> Callable[..., bool]:
    """The `changed(pattern, ...)` of these files; without a pattern: whether there are any."""

    def changed(*patterns: Any) -> bool:
        wanted = [_text(pattern) for pattern in patterns]
        return any(not wanted or matches_any(path, wanted) for path in paths)

    return changed


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, not {_kind(value)}")
    return value


def _length(value: Any) -> int:
    if not isinstance(value, str | list | tuple | dict):
        raise TypeError(f"{_kind(value)} has no length")
    return len(value)


def _matches(value: Any, pattern: Any) -> bool:
    texts = value if isinstance(value, list | tuple) else [value]
    return any(text_match(_text(each), _text(pattern)) for each in texts)


_BUILT_IN: dict[str, Callable[..., Any]] = {
    "len": _length,
    "lower": lambda text: _text(text).lower(),
    "upper": lambda text: _text(text).upper(),
    "startswith": lambda text, start: _text(text).startswith(_text(start)),
    "endswith": lambda text, end: _text(text).endswith(_text(end)),
    "matches": _matches,
}

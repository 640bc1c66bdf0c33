"""The grammar of `when`: what an expression may be made of, and what to say about the rest.

`conditions` evaluates only what was read here, so the bounds hold for every expression.
"""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from hookline.errors import did_you_mean
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from hookline.domain.hooks.condition_fields import Fields

MAX_LENGTH = 2_000
MAX_DEPTH = 50
MAX_NUMBER = 2**63
MAX_LISTED = 20
MAX_WORD = 60
MAX_CANDIDATES = 200

# Name and number of arguments; None: any number.
FUNCTIONS: dict[str, int | None] = {
    "changed": None,
    "matches": 2,
    "len": 1,
    "lower": 1,
    "upper": 1,
    "startswith": 2,
    "endswith": 2,
}

_OPERATOR_NAMES: dict[type[ast.AST], str] = {
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.MatMult: "@",
    ast.Invert: "~",
}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_UNAVAILABLE: dict[type[ast.AST], str] = {
    ast.JoinedStr: "a format string",
    ast.Lambda: "a lambda",
    ast.NamedExpr: "an assignment",
    **dict.fromkeys(_COMPREHENSIONS, "a comprehension"),
    ast.Starred: "unpacking with *",
    ast.Set: "a set",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}
_IDENTITY = (ast.Is, ast.IsNot)
CHAIN = (ast.Name, ast.Attribute, ast.Subscript)
_ALLOWED = (
    *(ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Call),
    *(ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Slice, ast.Load, *CHAIN),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, *_IDENTITY),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod),
    *(ast.And, ast.Or, ast.Not, ast.USub, ast.UAdd),
)


class RefusedError(Exception):
    """An expression that will not be evaluated; the message says why and where."""


def parse(expression: str) -> ast.expr:
    """The expression as a tree that holds allowed parts alone, or RefusedError."""
    text = expression.strip()
    if not text:
        raise RefusedError("the condition is empty")
    if len(text) > MAX_LENGTH:
        raise RefusedError(f"the condition is longer than {MAX_LENGTH} characters")
    tree = _single_expression(_statements(text))
    for node, depth in _walk(tree):
        if depth > MAX_DEPTH:
            raise RefusedError("the condition is nested too deeply")
        problem = _refusal(node)
        if problem:
            raise RefusedError(f"{problem}{_position(text, node)}")
    return tree


def _statements(text: str) -> list[ast.stmt]:
    try:
        # A doubtful spelling such as '\d' is an error whatever the warning filters are.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return ast.parse(text).body
    except SyntaxError as problem:
        where = f" at {_place(text, problem.lineno, problem.offset)}" if problem.lineno else ""
        raise RefusedError(f"syntax error{where}: {problem.msg}") from problem
    except (RecursionError, MemoryError) as problem:
        raise RefusedError("the condition is nested too deeply") from problem
    except ValueError as problem:
        raise RefusedError(f"syntax error: {problem}") from problem


def _single_expression(body: list[ast.stmt]) -> ast.expr:
    if len(body) > 1:
        raise RefusedError("a condition is one expression, not several statements")
    if not body:
        raise RefusedError("the condition is empty")
    statement = body[0]
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
        raise RefusedError("a condition cannot assign; compare with ==")
    if not isinstance(statement, ast.Expr):
        raise RefusedError("a condition is an expression, not a statement")
    return statement.value


def _walk(tree: ast.AST) -> Iterator[tuple[ast.AST, int]]:
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting.extend((child, depth + 1) for child in ast.iter_child_nodes(node))


def _refusal(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call):
        return _call_refusal(node)
    if isinstance(node, ast.Constant):
        return _constant_refusal(node.value)
    if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
        return f"'{node.attr}' is not available"
    if isinstance(node, ast.Dict) and None in node.keys:
        return "unpacking with ** is not available"
    if isinstance(node, ast.Compare) and _is_identity_of_data(node):
        return "'is' works with None, True and False only; compare with =="
    if isinstance(node, ast.BinOp | ast.UnaryOp) and type(node.op) in _OPERATOR_NAMES:
        return f"the operator {_OPERATOR_NAMES[type(node.op)]} is not available"
    if not isinstance(node, _ALLOWED):
        kind = _UNAVAILABLE.get(type(node), type(node).__name__)
        return f"{kind} is not available in a condition"
    return None


def _call_refusal(node: ast.Call) -> str | None:
    if isinstance(node.func, ast.Attribute):
        offered = f"{node.func.attr}(text)" if node.func.attr in FUNCTIONS else "a listed function"
        return f"methods are not available: use {offered} instead of .{node.func.attr}()"
    if not isinstance(node.func, ast.Name):
        return "only a function's name can be called"
    return "functions take positional arguments only" if node.keywords else None


def _constant_refusal(value: object) -> str | None:
    if isinstance(value, int | float) and abs(value) >= MAX_NUMBER:
        return "the number is too large"
    if value is None or isinstance(value, str | int | float):
        return None
    return f"a value of type {type(value).__name__} is not available in a condition"


def _is_identity_of_data(node: ast.Compare) -> bool:
    return any(
        isinstance(op, _IDENTITY)
        and not (isinstance(right, ast.Constant) and isinstance(right.value, bool | None))
        for op, right in zip(node.ops, node.comparators, strict=True)
    )


def check_words(
    text: str, tree: ast.expr, names: Collection[str], functions: Collection[str]
) -> None:
    """Refuse unknown names and functions, even where they would not be reached."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in calls:
        _check_call(text, call, functions)
    called = {id(call.func) for call in calls}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in called and node.id not in names:
            raise RefusedError(_unknown_name(text, node, names, functions))


class UnknownField(Immutable):
    """A field that data does not have: the sentence about it, whether the data may have others
    than are known, and whether a known one has nearly that name."""

    problem: str
    is_open: bool
    is_near: bool


def unknown_fields(
    text: str, tree: ast.expr, known: Mapping[str, Fields | None]
) -> Iterator[UnknownField]:
    """Each field that data of this shape does not have."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript):
            fields, key = _fields_at(node.value, known), _key(node)
            if fields is not None and key and not fields.each and key not in fields.names:
                whole = ast.get_source_segment(text, node.value) or "it"
                near = nearest(key, fields.names)
                problem = f"there is no '{key}' in {whole}{near}{_position(text, node)}"
                has = listed(f"names in {whole}", fields.names)
                yield UnknownField(f"{problem}; {has}", fields.is_open, bool(near))


def _fields_at(node: ast.expr, known: Mapping[str, Fields | None]) -> Fields | None:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Attribute | ast.Subscript):
        return None
    fields = _fields_at(node.value, known)
    if fields is None or not fields.each:
        return fields and fields.names.get(_key(node))
    is_item = isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice)
    return fields._replace(each=False) if is_item else None


def _key(node: ast.Attribute | ast.Subscript) -> str:
    """The field that is looked at, if the expression itself says its name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    value = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _check_call(text: str, node: ast.Call, functions: Collection[str]) -> None:
    name, where = called_name(node), _position(text, node)
    if name not in functions:
        problem = f"there is no function '{name}'{nearest(name, functions)}{where}"
        raise RefusedError(f"{problem}; {listed('functions', functions)}")
    expected = FUNCTIONS.get(name)
    if expected is not None and len(node.args) != expected:
        many = "1 argument" if expected == 1 else f"{expected} arguments"
        raise RefusedError(f"{name}() takes {many}, not {len(node.args)}{where}")


def _unknown_name(
    text: str, node: ast.Name, names: Collection[str], functions: Collection[str]
) -> str:
    if node.id in functions:
        return f"'{node.id}' is a function: write {node.id}(...){_position(text, node)}"
    problem = f"there is no name '{node.id}'{nearest(node.id, names)}{_position(text, node)}"
    return f"{problem}; {listed('names', names)}"


def called_name(node: ast.AST) -> str:
    """The name of the function that this node calls, else nothing."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.id if isinstance(func, ast.Name) else ""


def _position(text: str, node: ast.AST) -> str:
    line, offset = getattr(node, "lineno", None), getattr(node, "col_offset", 0)
    if line is None:
        return ""
    # Python takes a lone carriage return for the end of a line, too.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    before = lines[line - 1].encode()[:offset].decode(errors="replace")
    return f" at {_place(text, line, len(before) + 1)}"


def _place(text: str, line: int, column: int | None) -> str:
    place = f"column {column or 1}"
    return f"line {line}, {place}" if "\n" in text else place


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint at the word that was probably meant."""
    candidates = [each for each in words if len(each) <= MAX_WORD][:MAX_CANDIDATES]
    hint = did_you_mean(word[:MAX_WORD], candidates)
    return f" ({hint})" if hint else ""


def listed(what: str, words: Iterable[str]) -> str:
    """The words that could have been used."""
    shown = sorted(words)
    more = f", and {len(shown) - MAX_LISTED} more" if len(shown) > MAX_LISTED else ""
    text = ", ".join(each[:MAX_WORD] for each in shown[:MAX_LISTED])
    return f"available {what}: {text or 'none'}{more}"

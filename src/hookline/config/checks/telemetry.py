"""What is wrong with where telemetry is sent to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookline.config.reading.nodes import Mapping, Scalar, is_null
from hookline.hooks.kinds.http import url_problem

if TYPE_CHECKING:
    from hookline.config.reading.nodes import Node
    from hookline.config.reading.problems import Problems

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NEVER = "nothing would be sent"


def check_telemetry(node: Node | None, report: Problems) -> None:
    """Report an endpoint that is none, and headers that cannot be sent."""
    if not isinstance(node, Mapping):
        return
    url = node.get("endpoint")
    if isinstance(url, Scalar) and not is_null(url) and (wrong := url_problem(url.text)):
        message, help = wrong
        report.error("bad-url", url.mark, message, help=help, consequence=_NEVER)
    headers = node.get("headers")
    for name, pair in headers.pairs.items() if isinstance(headers, Mapping) else ():
        if not _HEADER.fullmatch(name):
            message, help = f"'{name}' is not the name of a header", "such as authorization"
            report.error("bad-header", pair.key.mark, message, help=help, consequence=_NEVER)
        value = pair.value
        if isinstance(value, Scalar) and not _VARIABLE.fullmatch(value.text):
            message = f"the header {name} needs the name of an environment variable"
            help = "put the value into a variable, and write its name here"
            report.error("bad-header", value.mark, message, help=help, consequence=_NEVER)

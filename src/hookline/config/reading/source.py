"""A configuration file as text: read within bounds, its failures reported as problems."""

from __future__ import annotations

import os
from typing import NamedTuple

from hookline.config.reading.nodes import MAX_BYTES, Mapping, is_null, parse
from hookline.config.reading.problems import Mark, Problems
from hookline.files import read_regular


class ConfigFile(NamedTuple):
    """A configuration file: where it is, what to call it, and which layer it speaks for."""

    path: str
    file: str
    layer: str

    @property
    def base(self) -> str:
        """The folder that relative paths in the file start from."""
        return os.path.dirname(self.path)


def read_text(source: ConfigFile, report: Problems) -> str | None:
    """The file's text, or None when there is none or it cannot be used."""
    try:
        content = read_regular(source.path, MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as problem:
        report.error(
            "unreadable", Mark(source.file), f"{source.file} cannot be read: {problem.strerror}"
        )
        return None
    if len(content) > MAX_BYTES:
        report.error("too-large", Mark(source.file), f"{source.file} is larger than 1 MiB")
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        column = problem.start - (content.rfind(b"\n", 0, problem.start) + 1) + 1
        message = f"byte 0x{content[problem.start]:02x} is not UTF-8"
        help = "save the file as UTF-8"
        report.error("not-utf-8", Mark(source.file, line, column, 1), message, help=help)
        return None


def read_mapping(source: ConfigFile, report: Problems) -> Mapping:
    """The file's top-level mapping; an empty one when there is nothing to read."""
    text = read_text(source, report)
    node = parse(text, source.file, report) if text is not None else None
    if isinstance(node, Mapping):
        return node
    if node is not None and not is_null(node):
        report.error("wrong-type", node.mark, "the file must contain a mapping of keys to values")
    return Mapping({}, Mark(source.file))

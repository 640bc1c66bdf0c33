"""Values that people type: JSON, the names of files."""

from __future__ import annotations

import os
import re
import sys
from os.path import isfile
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hookline.domain.text.known_secrets import MIN_LENGTH, knows
from hookline.errors import BadInput, HooklineError
from hookline.files import read_regular
from hookline.project import CONFIG_NAME, find_project, user_folder
from hookline.surfaces.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hookline.config.settings import Settings

T = TypeVar("T")
# A larger configuration is refused.
LARGEST = 1 << 20
# No token has fewer characters.
SHORTEST_TOKEN = 15


def known_variables() -> Mapping[str, str]:
    """The environment, with what the configuration adds to it for agents and hooks."""
    # Most configurations add none, and to load them would be to load them twice.
    settings = _configuration(b"env")
    if settings is None:
        return os.environ
    from hookline.trust.configured import configured_variables  # as above

    return configured_variables(settings, os.environ)


def _configured_names() -> Collection[str]:
    settings = _configuration()
    return () if settings is None else settings.names


def _configuration(holding: bytes = b"") -> Settings | None:
    """The settings, if a file with them holds a text; None where they cannot be read."""
    try:
        project, home = find_project(os.getcwd(), os.environ), user_folder(os.environ)
        places = (project.config, os.path.join(home, CONFIG_NAME))
        if not any(holding in read_regular(path, LARGEST) for path in places if isfile(path)):
            return None
        from hookline.wiring.project.configured import load_configuration

        return load_configuration(project, home)
    except (HooklineError, OSError):  # told by the command, if it needs a project
        return None


def typed(text: str, variables: Mapping[str, str]) -> str:
    """What a person typed without colour codes, control characters and secrets, which are told."""
    # What finds tokens takes longer than most commands, and prose can hold none.
    words = max(map(len, text.split()), default=0)
    is_prose = text.isprintable() and words < SHORTEST_TOKEN and "://" not in text
    if is_prose and (len(text) < MIN_LENGTH or not knows(variables, text)):
        return text
    from hookline.domain.text.cleaning import Cleaner, typed_text  # as above

    plain = typed_text(text)
    return _told(plain, Cleaner(variables, _configured_names).text(plain))


def typed_within(text: str, value: Any) -> Any:
    """What was read from a text that was typed; only escapes can have hidden a secret or a code."""
    if "\\" not in text:
        return value
    from hookline.domain.text.cleaning import Cleaner, typed_value  # few values are such

    plain = typed_value(value)
    return _told(plain, Cleaner(known_variables(), _configured_names).value(plain))


def _told(plain: T, clean: T) -> T:
    """What is clean; the person who typed it learns what was taken out."""
    if clean != plain:
        names = re.findall(r"\[redacted ([^\]]*)\]", str(clean))
        note(f"redacted: {', '.join(sorted(set(names)))}; secrets are not stored")
    return clean


def parse_json(text: str, name: str, help: str | None = None) -> Any:
    """JSON that a person typed."""
    try:
        return typed_within(text, msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as problem:
        raise BadInput(f"{name} is not valid JSON: {problem}", help=help) from problem


def parse_object(text: str, name: str, help: str | None = None) -> dict[str, Any]:
    """A JSON object that a person typed."""
    value = parse_json(text, name, help)
    if not isinstance(value, dict):
        raise BadInput(f"{name} must be a JSON object", help=help)
    return value


def read_text(name: str) -> str:
    """The text of a file; `-` is stdin."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as file:
                data = file.read()
        return typed(data.decode("utf-8"), known_variables())
    except OSError as problem:
        raise BadInput(f"cannot read {name}: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise BadInput(f"{name} is not UTF-8 text: {problem}") from problem

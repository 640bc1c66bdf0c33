"""`hookline schema` and the loader: an editor accepts what Hookline takes, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it brings no types

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

AGENT = "agents: {a: {driver: command, command: 'true', "
TAKEN = [
    "session: {turn_timeout: 30m, model_wait: 90}",
    "session: {turn_timeout: 1.5 h, budget: }",
    "session:",
    "gates: {max_file: 5 MB, max_wait: 2h}",
    "gates: {max_file: 0, max_wait: 500ms, forge: , test: true}",
    "hooks: {stop: [{command: 'true', timeout: 2m, priority: , env: {A: 1, B: true}}]}",
    "validation: [{name: 5, type: command, command: make, timeout: 30s}]",
    "flows: {f: {steps: [{id: 1, sleep: 1h}, {id: b, run: ls, timeout: 5m, max_age: 1h}]}}",
    AGENT + "model: 5, args: [1, x], prompt: }}",
]
REFUSED = [
    "session: {turn_timeout: soon}",
    "session: {turn_timeout: 0}",
    "session: {turn_timeout: 2d}",
    "gates: {max_file: 5 megabytes}",
    "gates: {max_file: 1.5 MB}",
    "gates: {forge: gitlab}",
    "gates: {test: 5}",
    "hooks: {stop: [{command: 5}]}",
    "validation: [{name: v, type: command, command: 1.5}]",
    "flows: {f: {steps: [{id: a, run: 7}]}}",
    "agents: {a: {driver: command, command: 8}}",
    "sesion: {}",
]


@pytest.fixture
def schema(cli: Cli) -> Draft202012Validator:
    found = cli.json("schema")
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def test_the_schema_agrees_with_the_loader(cli: Cli, schema: Draft202012Validator) -> None:
    for text in (*TAKEN, *REFUSED):
        cli.put("hookline.yaml", f"{text}\n")
        checked = cli("check", "--json").json
        problems = [each["message"] for each in checked["problems"] if each["severity"] == "error"]
        said = [each.message for each in schema.iter_errors(yaml.safe_load(text))]
        assert (bool(problems), bool(said)) == (text in REFUSED,) * 2, (text, problems, said)

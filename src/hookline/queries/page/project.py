"""Who looks at the page, and at which project."""

from __future__ import annotations

from typing import Literal

from hookline.queries.page.shown import Shown


class AgentChoice(Shown):
    """An agent that a session can be started with."""

    name: str
    driver: str
    usual: bool


class Visitor(Shown):
    """Who looks: a person decides, a viewer sees; `refused` is why someone may not decide."""

    role: Literal["person", "viewer"]
    decides: bool
    refused: str | None
    name: str
    project: str
    root: str
    version: str
    seq: int
    agents: list[AgentChoice]
    types: list[str]

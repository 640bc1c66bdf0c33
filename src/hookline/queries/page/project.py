"""Who looks at the page, and at which project."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from hookline.queries.page.shown import Shown
from hookline.version import __version__

if TYPE_CHECKING:
    from hookline.app import App


class AgentChoice(Shown):
    """An agent that a session can be started with."""

    name: str
    driver: str
    usual: bool


class Visitor(Shown):
    """Who looks: a person decides, a viewer sees; `refused` is why someone may not decide.

    `store` is another one if the project's store was replaced.
    """

    role: Literal["person", "viewer"]
    decides: bool
    refused: str | None
    name: str
    project: str
    root: str
    store: str
    version: str
    seq: int
    agents: list[AgentChoice]
    types: list[str]


def visitor(app: App, role: Literal["person", "viewer"], refused: str | None) -> Visitor:
    """Who looks at this project."""
    with app.read() as view:
        last = view.log.last()
    sections = app.sections
    usual = sections.agent or next(iter(sections.agents), None)
    return Visitor(
        role=role,
        decides=refused is None,
        refused=refused,
        name=str(app.origin.metadata()["triggeredBy"]),
        project=os.path.basename(app.project.root) or app.project.root,
        root=app.project.root,
        store=app.store.id,
        version=__version__,
        seq=last,
        agents=[
            AgentChoice(name=name, driver=each.driver, usual=name == usual)
            for name, each in sections.agents.items()
        ],
        types=list(sections.task_types),
    )

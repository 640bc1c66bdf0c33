"""The agent of a session: which one, and whether its program is there, before anything begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.adapters.agents.scripted import read_script
from hookline.errors import BadInput
from hookline.surfaces.cli.doctor_agents import is_there, program_of
from hookline.surfaces.cli.output import untrusted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.app import App


def chosen_agent(app: App, name: str | None) -> str:
    """The profile that is named, else the configuration's, else its first; ready to be started."""
    settings = app.settings
    profiles = settings.agents if settings is not None else {}
    default = settings.agent if settings is not None else None
    wanted = name or default or next(iter(profiles), None)
    if wanted is None:
        raise BadInput(
            "no agent is configured",
            help="`hookline init` finds those on PATH; or list one under `agents:` in"
            " hookline.yaml, such as {driver: claude-code}",
        )
    if wanted not in profiles:
        raise BadInput(
            f"there is no agent '{untrusted(wanted, 80)}'", help=_suggestion(wanted, profiles)
        )
    _refuse_missing(app, wanted, profiles[wanted])
    return wanted


def _suggestion(wanted: str, profiles: Iterable[str]) -> str:
    from difflib import get_close_matches  # only a wrong name needs it

    near = get_close_matches(wanted, list(profiles), n=1)
    if near:
        return f"did you mean '{untrusted(near[0], 80)}'?"
    known = ", ".join(untrusted(each, 80) for each in profiles)
    return f"there is {known}" if known else "agents are listed under `agents:` in hookline.yaml"


def _refuse_missing(app: App, name: str, profile: Any) -> None:
    if profile.driver == "scripted":
        read_script(app.project.root, profile.script)
    program = program_of(profile)
    if program is None or is_there(program, app.project.root, {**app.environ, **profile.env}):
        return
    raise BadInput(
        f"agent '{untrusted(name, 80)}' needs the program {untrusted(program, 200)},"
        " which is not there",
        help="install it, or correct `command:` of that agent in hookline.yaml;"
        " `hookline doctor` shows PATH",
    )

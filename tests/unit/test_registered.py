"""Two groups of stop hooks: what the project configures and what an agent registered."""

from __future__ import annotations

import pytest

from hookline.domain.hooks.answers import StopDecision
from hookline.domain.hooks.records import OK, SKIPPED, Outcome
from hookline.errors import BadInput
from hookline.hooks.registered import both, check_registration, configured_hooks, decide, hook_of
from hookline.hooks.registry import Hook, HookRegistry
from hookline.hooks.scopes import HookScopes
from hookline.tasks.registrations import Registration


def said(action: str, name: str) -> StopDecision:
    return StopDecision(action=action, reason=name, next_prompt=f"do {name}", hook_id=name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("project", "agent", "action", "who"),
    [
        (None, None, "continue", "default"),
        (None, "complete", "complete", "agent"),
        (None, "continue", "continue", "agent"),
        (None, "escalate", "escalate", "agent"),
        ("complete", None, "complete", "project"),
        ("complete", "complete", "complete", "project"),
        ("complete", "continue", "continue", "agent"),
        ("continue", "complete", "continue", "project"),
        ("continue", "continue", "continue", "project"),
        ("complete", "escalate", "escalate", "agent"),
        ("continue", "escalate", "escalate", "agent"),
        ("escalate", "complete", "escalate", "project"),
        ("escalate", "escalate", "escalate", "project"),
    ],
)
def test_complete_needs_both_and_escalate_either(
    project: str | None, agent: str | None, action: str, who: str
) -> None:
    decision = both(
        said(project, "project") if project else None, said(agent, "agent") if agent else None
    )
    assert (decision.action, decision.hook_id) == (action, who)


def test_the_agent_is_told_what_both_want() -> None:
    decision = both(said("continue", "project"), said("continue", "agent"))
    assert decision.next_prompt == "do project\n\ndo agent"
    assert decision.reason == "project; agent"


def test_what_the_projects_hook_says_beats_what_the_agents_adds() -> None:
    one = StopDecision(action="complete", metadata={"receipt": 1}, hook_id="project")
    two = StopDecision(action="complete", metadata={"receipt": 2, "own": 3}, hook_id="agent")
    assert both(one, two).metadata == {"receipt": 1, "own": 3}


@pytest.mark.parametrize("other", ["continue", "complete", "escalate"])
def test_a_checkpoint_is_made_whatever_the_other_group_says(other: str) -> None:
    wish = StopDecision(action="continue", checkpoint_data={"at": 2})
    assert both(wish, said(other, "agent")).checkpoint_data == {"at": 2}
    assert both(said(other, "project"), wish).checkpoint_data == {"at": 2}


def test_a_hook_that_is_held_back_lets_nobody_pass() -> None:
    hook, other = (Hook(name=name, points=("stop",), target="true") for name in ("a", "b"))
    held = Outcome("a", SKIPPED, None, "not trusted")
    done = Outcome("b", OK, StopDecision(action="complete"))
    decision = decide([(hook, held), (other, done)])
    assert (decision.action, decision.hook_id) == ("escalate", "a")
    assert decision.metadata == {"error": "not trusted"}


def test_a_hook_whose_condition_is_false_has_no_say() -> None:
    hook = Hook(name="a", points=("stop",), target="true")
    said = decide([(hook, Outcome("a", SKIPPED))])
    assert (said.action, said.reason, said.hook_id) == ("continue", "no stop hook applied", None)


def test_the_default_of_the_point_is_not_configured() -> None:
    registry = HookRegistry()
    assert configured_hooks(HookScopes(registry)) == []
    assert configured_hooks(HookScopes(registry, ("stop",))) == []
    own = registry.register(Hook(name="mine", points=("stop",), kind="command", target="true"))
    assert configured_hooks(HookScopes(registry, ("stop",))) == [own]


def test_a_registration_as_a_hook() -> None:
    made = hook_of(Registration(hook_type="command", command="pytest -q", id="HOOK-7", timeout=9))
    assert (made.name, made.kind, made.target) == ("HOOK-7", "command", "pytest -q")
    assert (made.points, made.timeout, made.enabled) == (("stop",), 9, True)
    preset = hook_of(Registration(hook_type="tdd", arguments={"rule": "t"}, id="HOOK-8"))
    assert (preset.kind, preset.target) == ("built-in", "tdd")
    assert preset.metadata == {"arguments": {"rule": "t"}}


def test_without_commands_presets_remain() -> None:
    preset = Registration(hook_type="promise")
    assert check_registration(preset, commands=False) is preset
    for own in (
        Registration(hook_type="command", command="true"),
        Registration(hook_type="python", python="a:b"),
    ):
        assert check_registration(own) is own
        with pytest.raises(BadInput, match="does not run commands"):
            check_registration(own, commands=False)

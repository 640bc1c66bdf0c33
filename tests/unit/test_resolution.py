"""Which gates stand in a task's way, and where each came from."""

from __future__ import annotations

from typing import Any

from hookline.hooks.gates.resolution import Authorship, Resolved, ResolvedGatekeeper, resolve
from hookline.hooks.registry import Hook, HookRegistry
from hookline.hooks.scopes import HookScopes


def gate(target: str, point: str = "before_submit", **more: Any) -> Hook:
    fields = {"name": f"{point}:{target}", "kind": "built-in", "origin": "hookline.yaml:5"}
    return Hook(**{**fields, "points": (point,), "target": target, **more})


def at(scopes: HookScopes, point: str, worker: Authorship | None = None, **more: Any) -> Resolved:
    found = {each.point: each for each in resolve(scopes, worker or Authorship(), **more)}
    assert list(found) == ["before_submit", "after_submit", "before_merge", "after_merge"]
    return found[point]


def targets(resolved: Resolved) -> list[str]:
    return [entry.target for entry in resolved.gates]


def test_without_a_word_work_is_submitted_through_a_pull_request() -> None:
    found = at(HookScopes(HookRegistry()), "before_submit")
    assert (targets(found), found.source) == (["create_pr"], "default")
    assert [(entry.origin, entry.source) for entry in found.gates] == [("built-in", "default")]


def test_where_no_gate_stands_work_is_accepted_by_itself() -> None:
    found = at(HookScopes(HookRegistry()), "before_merge")
    assert (found.gates, found.auto_accepted, found.source) == ((), True, "default")


def test_an_empty_list_of_the_project_replaces_the_default() -> None:
    found = at(HookScopes(HookRegistry(), ("before_submit",)), "before_submit")
    assert (found.gates, found.auto_accepted, found.source) == ((), True, "project")


def test_the_type_comes_before_the_project_and_the_agent_before_both() -> None:
    scopes = HookScopes(
        HookRegistry([gate("lint")]),
        ("before_submit",),
        {"product": {"before_submit": [gate("run_tests")]}},
        {"careful": {"before_submit": [gate("secrets")]}, "eager": {"before_submit": []}},
    )
    project = at(scopes, "before_submit")
    assert (targets(project), project.source) == (["lint"], "project")
    product = at(scopes, "before_submit", Authorship(task_type="product"))
    assert (targets(product), product.source) == (["run_tests"], "task type product")
    careful = at(scopes, "before_submit", Authorship("careful", "product"))
    assert (targets(careful), careful.source) == (["secrets"], "agent careful overrides")
    eager = at(scopes, "before_submit", Authorship("eager", "product"))
    assert (targets(eager), eager.auto_accepted) == ([], True)
    assert eager.source == "agent eager overrides"


def test_a_type_that_is_silent_about_a_point_leaves_it_to_the_project() -> None:
    scopes = HookScopes(
        HookRegistry([gate("human", "before_merge")]),
        ("before_merge",),
        {"hotfix": {"before_submit": [gate("run_tests")]}},
    )
    found = at(scopes, "before_merge", Authorship(task_type="hotfix"))
    assert (targets(found), found.source) == (["human"], "project")


def test_each_gate_of_the_project_tells_its_own_layer_in_the_one_order() -> None:
    hooks = [
        gate("lint", layer="user", origin="~/hookline.yaml:3"),
        gate("run_tests", layer="project", origin="hookline.yaml:7"),
    ]
    found = at(HookScopes(HookRegistry(hooks), ("before_submit",)), "before_submit")
    assert [(entry.target, entry.source, entry.origin) for entry in found.gates] == [
        ("run_tests", "project", "hookline.yaml:7"),
        ("lint", "user", "~/hookline.yaml:3"),
    ]


def test_gates_that_are_all_switched_off_accept_by_themselves() -> None:
    scopes = HookScopes(HookRegistry([gate("lint", name="tidy")]), ("before_submit",))
    assert not at(scopes, "before_submit").auto_accepted
    found = at(scopes, "before_submit", switches={"tidy": False})
    assert (found.gates[0].enabled, found.auto_accepted) == (False, True)


def judged(*entries: dict[str, Any], worker: Authorship) -> tuple[ResolvedGatekeeper, ...]:
    hook = gate("gatekeeper", "before_merge", metadata={"gatekeepers": list(entries)})
    scopes = HookScopes(HookRegistry([hook]), ("before_merge",))
    profiles = {"qa", "gatekeeper-qa", "bot"}
    return at(scopes, "before_merge", worker, profiles=profiles).gates[0].gatekeepers


def test_gatekeepers_are_the_profiles_that_the_configuration_found() -> None:
    by_type = {"name": "style", "profile": None, "byType": {"product": ["qa", "gone"]}}
    named = {"name": "qa", "profile": "gatekeeper-qa"}
    assert judged(named, by_type, worker=Authorship("bot", "product")) == (
        ResolvedGatekeeper(name="qa", profiles=("gatekeeper-qa",)),
        ResolvedGatekeeper(name="style", profiles=("qa",)),
    )
    assert judged(by_type, worker=Authorship("bot", "chore")) == (ResolvedGatekeeper(name="style"),)


def test_nobody_judges_their_own_work() -> None:
    own = {"name": "qa", "profile": "qa"}
    nobody = (ResolvedGatekeeper(name="qa", authors=("qa",)),)
    assert judged(own, worker=Authorship("qa", None)) == nobody
    before = Authorship("bot", None, frozenset({"qa"}))
    assert judged(own, worker=before) == nobody

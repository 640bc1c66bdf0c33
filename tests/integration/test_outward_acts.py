"""What leaves this machine, or moves the base, is preceded by a look at the lease."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from hookline.adapters.forges import local
from hookline.domain.work.repository import Merged
from hookline.errors import Fenced
from hookline.ports.leases import acting_under, prove_lease
from hookline.ports.work import ForgeKind, ForgeSite
from hookline.wiring.working.forges import DeferredForge
from tests.integration.engine_world import World
from tests.integration.repository_rig import do
from tests.integration.test_repository_merge import merge, worked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.ports.work import Forge
    from tests.integration.repository_rig import Place


def lost() -> None:
    raise Fenced


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_nothing_is_merged_by_who_lost_the_lease(place: Place) -> None:
    worked(place)
    before = place.main()
    with acting_under(lost), pytest.raises(Fenced):
        merge(place)
    assert place.main() == before
    assert isinstance(merge(place), Merged)
    assert place.main() != before


def test_nothing_is_pushed_by_who_lost_the_lease(shared: Place) -> None:
    path = worked(shared)
    branch = "hookline/T-1"
    pushes = shared.repository().pushes
    with acting_under(lost), pytest.raises(Fenced):
        do(pushes.push(path, branch, "origin"))
    assert shared.git("ls-remote", "origin", branch) == ""
    do(pushes.push(path, branch, "origin"))
    assert shared.git("ls-remote", "origin", branch) != ""
    with acting_under(lost), pytest.raises(Fenced):
        do(pushes.remove(branch, "origin"))
    assert shared.git("ls-remote", "origin", branch) != ""


def test_no_forge_is_asked_by_who_lost_the_lease(tmp_path: Path) -> None:
    async def url() -> str:
        return ""

    async def open_forge() -> Forge:
        return await kind.open_forge(
            ForgeSite(folder=str(tmp_path), remote=None, remote_url=url, environ={})
        )

    kind: ForgeKind = cast("ForgeKind", local)
    forge: Any = DeferredForge("local", None, kind, open_forge)
    with acting_under(lost), pytest.raises(Fenced):
        do(forge.open_pull_request("b", "main", "title", "body"))
    assert do(forge.find_pull_request("b", "main")) is None
    do(forge.open_pull_request("b", "main", "title", "body"))
    assert do(forge.find_pull_request("b", "main")).number == 1


def test_a_lease_that_is_proven_lasts_for_the_act(world: World) -> None:
    async def nothing(ctx: Any) -> None:
        """A run without effects."""

    run_id, engine = world.start(nothing), world.engine

    def take(owner: str, token: int, until: float) -> None:
        with world.app.store.write({}) as tx:
            tx.runs.leases.take(run_id, owner, token, until)

    take(engine.owner.name, 5, 0.0)
    engine.prove(lambda tx: engine.check(tx, run_id, 5))
    with world.app.read() as view:
        assert view.runs.leases.holder(run_id)[2] > time.time()
    take("another", 6, 0.0)
    with pytest.raises(Fenced):
        engine.prove(lambda tx: engine.check(tx, run_id, 5))


def test_a_lease_on_a_server_that_was_over_is_lost_though_nobody_took_it(world: World) -> None:
    """What was started under it has been killed; in a file it is enough that nobody took it."""

    async def nothing(ctx: Any) -> None:
        """A run without effects."""

    run_id, engine = world.start(nothing), world.engine
    with world.app.store.write({}) as tx:
        tx.runs.leases.take(run_id, engine.owner.name, 5, time.time() - 1)
        engine.check(tx, run_id, 5)
        engine.owner = msgspec.structs.replace(engine.owner, lease=60.0)
        with pytest.raises(Fenced):
            engine.check(tx, run_id, 5)
        tx.runs.leases.take(run_id, engine.owner.name, 6, time.time() + 60)
        engine.check(tx, run_id, 6)
        tx.runs.leases.let_go(run_id, 6, None)
        engine.check(tx, run_id, 6)


def test_the_lease_of_an_effect_is_proven_wherever_it_acts(world: World) -> None:
    """What an effect calls knows nothing of leases; whoever acts by hand needs none."""
    proven: list[str] = []

    async def flow(ctx: Any) -> None:
        await ctx.run("true", id="act")

    engine, execute = world.engine, world.engine.executor.execute

    async def acting(*given: Any) -> Any:
        prove_lease()
        with world.app.store.write({}) as tx:
            tx.runs.leases.take(run_id, "another", tx.next_token(), time.time() + 60)
        with pytest.raises(Fenced):
            prove_lease()
        proven.append(run_id)
        return await execute(*given)

    run_id = world.start(flow)
    engine.executor.execute = acting  # type: ignore[assignment, method-assign]
    assert world.advance(run_id).held  # type: ignore[union-attr]
    assert proven == [run_id]
    prove_lease()

"""How the effects of Hookline's own flows are carried out: turns, hook points, the repository."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hookline.flows.effects import EffectKind
from hookline.pipeline.gate_answers import GateAnswers
from hookline.pipeline.repository.merged_tests import KEY as TESTS
from hookline.sessions.checks import CheckEffects
from hookline.sessions.points import PointEffects
from hookline.sessions.run_files import RunFiles
from hookline.sessions.turns import TurnEffects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.runs.model import Resolution
    from hookline.flows.attempt import Attempt, Surroundings


def effect_kinds(around: Surroundings) -> Mapping[str, EffectKind]:
    """The kinds of effects for turns, hook points and the repository."""
    files = RunFiles(around)
    turns, checks = TurnEffects(around, files), CheckEffects(around, files)
    points = PointEffects(around, GateAnswers(around).answer, files.forget)
    repo = EffectKind(partial(_repo, around), _repo_keys)
    return {**turns.kinds, **checks.kinds, "hook": points.kind, "repo": repo}


async def _repo(around: Surroundings, attempt: Attempt) -> Resolution:
    from hookline.pipeline.repository.effects import RepoEffects  # few flows touch the repository

    return await RepoEffects(around).carry_out(attempt)


def _repo_keys(attempt: Attempt) -> list[str]:
    return [attempt.key, attempt.key_for(TESTS)]

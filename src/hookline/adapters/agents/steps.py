"""How many steps its model takes in a turn of an agent, by what the agent reports."""

from __future__ import annotations

# How a turn ends whose agent was stopped, whoever counted.
STOPPED = "max_turns"


def stopped(most: int) -> str:
    """Why a turn ended, in words for a person."""
    return f"the agent was stopped after {most} step{'' if most == 1 else 's'}, the limit of a turn"


class StepCount:
    """The steps of one turn, by what the agent reports of its model.

    A step begins with words or a tool, the next one with those that follow a tool's result.
    Tools that are begun before any of them has its result belong to one step.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._begun = 0
        self._has_answer = True

    @property
    def ending(self) -> str | None:
        """Why the agent must go no further; None while it may."""
        if self._most is None or self._begun <= self._most:
            return None
        return stopped(self._most)

    def act(self) -> None:
        """The model says something, or has a tool used."""
        if self._has_answer:
            self._begun += 1
            self._has_answer = False

    def answer(self) -> None:
        """A tool has its result, so that the model is asked again."""
        self._has_answer = True

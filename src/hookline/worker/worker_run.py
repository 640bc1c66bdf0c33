"""One worker from start to end: its tasks, its lanes, its reports and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.flows.serving import RunServer
from hookline.operations.announcements import at_work
from hookline.operations.worktrees import remove_finished
from hookline.wiring.running.engine import engine
from hookline.wiring.running.hosts import serving
from hookline.wiring.running.schedulers import refuse_unusable, scheduler
from hookline.wiring.working.forges import check_forge
from hookline.wiring.working.work import check_repository
from hookline.worker.account import WorkAccount, account
from hookline.worker.loop import WorkBudget, Worker
from hookline.worker.news import News
from hookline.worker.offered_agents import OfferedAgents
from hookline.worker.records import CannotBegin
from hookline.worker.task_picker import TaskPicker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from hookline.app import App
    from hookline.config.types import SchedulerSection
    from hookline.domain.hooks.records import Delivery
    from hookline.domain.tasks import Task
    from hookline.domain.work.repository import SetupProblem
    from hookline.errors import HooklineError


class WorkerRun:
    """A worker over an opened project; `news` may be read from another thread meanwhile."""

    def __init__(
        self,
        app: App,
        lanes: Sequence[tuple[str, ...]],
        types: Sequence[str] | None,
        settings: SchedulerSection,
    ) -> None:
        self._app, self._lanes, self._scheduler = app, lanes, settings
        with app.read() as view:
            self._place = view.log.last()
        tell = self._left_alone
        self._picker = TaskPicker(app, lanes[0], types, after=self._place, left_alone=tell)
        self.news = News(app, self._picker.tasks, self._place)

    async def serve(
        self,
        budget: WorkBudget,
        *,
        once: bool,
        tell: Callable[[str], None],
        failed: Callable[[Delivery], None],
        stopped_by: Callable[[Callable[..., None]], AbstractContextManager[None]],
    ) -> Worker:
        """Take tasks until nothing is left to do, or until it is stopped."""
        app = self._app
        names = list(dict.fromkeys(name for lane in self._lanes for name in lane))
        offered = self._picker.choice.offered = OfferedAgents(app, names, tell)
        served = engine(app, self._observe)
        admits = served.admitting(self._picker.choice.admission.admits)
        chosen = scheduler(app, self._scheduler, served, admits, tell)
        await refuse_unusable(app, self._scheduler)
        worker = Worker(
            served,
            RunServer(served, chosen, admits),
            self._lanes,
            self._picker,
            budget=budget,
            tell=tell,
        )
        app.spent = worker.money_spent
        app.offers = lambda: None if worker.is_stopping else offered.now()
        async with offered.watched(), at_work(app, failed, tell, self._picker.keep):
            with serving(app), stopped_by(worker.stop):
                await worker.serve(once=once)
        if not worker.is_stopping:
            await remove_finished(app)
        return worker

    def account(self, worker: Worker) -> WorkAccount:
        """Its result."""
        return account(self._app, worker, self._picker, self._place)

    def _observe(self, what: str, details: dict[str, Any]) -> None:
        # Also calls that have only begun, so that a gate is shown while it runs.
        if what in ("begun", "effect"):
            self._picker.notice(details["runId"], details["effectId"], is_done=what == "effect")

    def _left_alone(self, task: Task, problem: HooklineError) -> None:
        code, message, help = problem.code, problem.message, problem.help
        self.news.put(CannotBegin(task_id=task.id, code=code, message=message, help=help))


async def check_place(app: App) -> Sequence[SetupProblem]:
    """Refuse a repository that cannot be worked on; what the forge would refuse."""
    await check_repository(app)
    return await check_forge(app)

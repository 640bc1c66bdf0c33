"""The connection to a Temporal server, what it is asked, and how it fails."""

from __future__ import annotations

import dataclasses
import logging
import re
import shlex
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from temporalio.api.common.v1 import Payloads, WorkflowType
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeWorkerDeploymentRequest,
    SetWorkerDeploymentCurrentVersionRequest,
    SignalWithStartWorkflowExecutionRequest,
)
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverter,
    encode_search_attributes,
)
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from hookline.adapters.temporal.workflow import FLOW, LOOK, PROJECT, STATUS, WORKFLOW
from hookline.domain.runs.model import RUNNING
from hookline.errors import SchedulerError, SchedulerUnreachable
from hookline.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from temporalio.api.failure.v1 import Failure
    from temporalio.converter import PayloadConverter

    from hookline.ports.schedulers import SchedulerSite

T = TypeVar("T")

ATTRIBUTES = (PROJECT.name, FLOW.name, STATUS.name)
# A worker that was stopped keeps a task that it was given for so long.
WORKFLOW_TASK = timedelta(seconds=3)
PATIENCE = timedelta(seconds=5)
LARGEST_PEM = 1 << 20
_AWAY = (
    *(RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED),
    RPCStatusCode.RESOURCE_EXHAUSTED,
    # A server that ends in the middle of an answer, or has not quite begun.
    *(RPCStatusCode.UNKNOWN, RPCStatusCode.INTERNAL, RPCStatusCode.ABORTED),
)
_REFUSED = (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED)


class QuietFailures(DefaultFailureConverter):
    """Tells the server which kind of error it was: no texts and no paths."""

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        """Without the trace, and without what caused it."""
        super().to_failure(exception, payload_converter, failure)
        failure.stack_trace = ""
        failure.ClearField("cause")
        failure.message = failure.application_failure_info.type or type(exception).__name__


def task_queue(site: SchedulerSite) -> str:
    """The queue of the project's runs: unless it is configured, no other project has it."""
    return site.settings.task_queue or f"hookline-{site.store.id[:8]}"


def host_queue(site: SchedulerSite, host: str) -> str:
    """The queue of one host, for work that is there."""
    return f"{task_queue(site)}/{host}"


def prefix(site: SchedulerSite) -> str:
    """What the ids of all workflows of a store begin with."""
    return f"hookline/{site.store.id}/"


@cache
def _runtime() -> Runtime:
    """Threads of the library, and its log: what matters is told by us."""
    logging.getLogger("temporalio").setLevel(logging.CRITICAL)
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter="off")))


async def connected(site: SchedulerSite) -> TemporalClient:
    """The connection; SchedulerError if there is none."""
    settings = site.settings
    try:
        client = await Client.connect(
            settings.address,
            namespace=settings.namespace,
            api_key=_secret(site, settings.api_key_env),
            tls=_tls(site),
            identity=site.host,
            data_converter=dataclasses.replace(
                DataConverter.default, failure_converter_class=QuietFailures
            ),
            runtime=_runtime(),
            connect_timeout=PATIENCE,
        )
    except (RPCError, RuntimeError, ValueError) as problem:
        raise translated(site, problem) from problem
    return TemporalClient(site, client)


async def asked(site: SchedulerSite, asking: Awaitable[T]) -> T:
    """What the server answers; SchedulerError if it does not."""
    try:
        return await asking
    except RPCError as problem:
        raise translated(site, problem) from problem


def translated(site: SchedulerSite, problem: Exception) -> SchedulerError:
    """What went wrong, as a person has to know it."""
    place = f"the Temporal server at {site.settings.address}"
    status = problem.status if isinstance(problem, RPCError) else None
    said = _said(problem)
    if status in _REFUSED or "PermissionDenied" in said or "Unauthenticated" in said:
        return SchedulerError(
            f"{place} refuses this client in the namespace '{site.settings.namespace}'",
            help="check the key or the certificate that `scheduler:` names, and its rights",
        )
    if status is None or status in _AWAY:
        return SchedulerUnreachable(f"{place} does not answer: {said}")
    if "namespace" in said.lower() and status == RPCStatusCode.NOT_FOUND:
        name = site.settings.namespace
        return SchedulerError(
            f"{place} has no namespace '{name}'",
            help=f"make it: `{typed(site, 'operator namespace create')}`",
        )
    if status == RPCStatusCode.INVALID_ARGUMENT and "search attribute" in said.lower():
        return missing_attributes(site, place, ATTRIBUTES)
    return SchedulerError(f"{place}: {said}")


def _said(problem: Exception) -> str:
    """Its text; of one that was printed for programmers, only the sentences in it."""
    said = str(problem).partition("\n")[0] or type(problem).__name__
    sentences = re.findall(r'"([^"]+)"', said) if "tonic::" in said else []
    return ": ".join(sentences)[:200] or said[:200]


def typed(site: SchedulerSite, words: str) -> str:
    """A command of Temporal's own program, for the server and the namespace that are configured."""
    given = ("--address", site.settings.address, "--namespace", site.settings.namespace)
    return f"temporal {words} {shlex.join(given)}"


def missing_attributes(site: SchedulerSite, place: str, names: Any) -> SchedulerError:
    """The server does not know what runs are found by."""
    words = " ".join(f"--name {each} --type Keyword" for each in names)
    return SchedulerError(
        f"{place} has no search attribute {', '.join(names)}",
        help=f"make them: `{typed(site, f'operator search-attribute create {words}')}`",
    )


def _secret(site: SchedulerSite, name: str | None) -> str | None:
    if name is None:
        return None
    found = site.environ.get(name)
    if not found:
        raise SchedulerError(f"the variable {name} is not set", help="`scheduler:` names it")
    return found


def _pem(site: SchedulerSite, name: str | None) -> bytes | None:
    path = _secret(site, name)
    if path is None:
        return None
    try:
        return read_regular(path, LARGEST_PEM)
    except (OSError, ValueError) as problem:
        raise SchedulerError(f"the file that {name} names cannot be read: {problem}") from problem


def _tls(site: SchedulerSite) -> TLSConfig | bool:
    settings = site.settings
    if not any((settings.ca_env, settings.cert_env, settings.key_env)):
        return settings.tls or settings.api_key_env is not None
    return TLSConfig(
        server_root_ca_cert=_pem(site, settings.ca_env),
        client_cert=_pem(site, settings.cert_env),
        client_private_key=_pem(site, settings.key_env),
    )


class TemporalClient:
    """What Hookline asks of a server, for one project."""

    def __init__(self, site: SchedulerSite, client: Client) -> None:
        self.site, self.client = site, client
        self.queue = task_queue(site)

    async def look(self, run_id: str, flow: str, home: str | None, key: str) -> None:
        """Have a run looked at: its workflow is told, or begun; once for each key."""
        where = host_queue(self.site, home) if home else ""
        encode = self.client.data_converter.encode
        attributes = TypedSearchAttributes(
            [
                SearchAttributePair(PROJECT, self.site.project),
                SearchAttributePair(FLOW, flow),
                SearchAttributePair(STATUS, RUNNING),
            ]
        )
        request = SignalWithStartWorkflowExecutionRequest(
            namespace=self.client.namespace,
            workflow_id=f"{prefix(self.site)}{run_id}",
            workflow_type=WorkflowType(name=WORKFLOW),
            task_queue=TaskQueue(name=self.queue),
            input=Payloads(payloads=await encode([self.site.store.id, run_id, where, RUNNING])),
            signal_name=LOOK,
            signal_input=Payloads(payloads=await encode([where])),
            identity=self.site.host,
            request_id=key,
        )
        request.workflow_task_timeout.FromTimedelta(WORKFLOW_TASK)
        encode_search_attributes(attributes, request.search_attributes)
        service = self.client.workflow_service
        await service.signal_with_start_workflow_execution(request, timeout=PATIENCE, retry=False)

    async def remind(self, run_id: str) -> None:
        """Have the workflow of a run look at it, if it has one that is open."""
        handle = self.client.get_workflow_handle(f"{prefix(self.site)}{run_id}")
        try:
            await handle.signal(LOOK, "", rpc_timeout=PATIENCE)
        except RPCError as problem:
            if problem.status != RPCStatusCode.NOT_FOUND:
                raise

    async def open_runs(self) -> list[str]:
        """The runs of this store whose workflows are open."""
        query = f"ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '{prefix(self.site)}'"
        found = self.client.list_workflows(query)
        return [each.id.removeprefix(prefix(self.site)) async for each in found]

    async def strangers(self) -> list[str]:
        """Workflows of other projects in our queue."""
        ours = prefix(self.site)
        query = f"ExecutionStatus = 'Running' AND TaskQueue = '{self.queue}'"
        found = self.client.list_workflows(f"{query} AND WorkflowId NOT STARTS_WITH '{ours}'")
        return [each.id async for each in found]

    async def check(self) -> None:
        """SchedulerError if the namespace or one of the search attributes is missing."""
        client, name = self.client, self.client.namespace
        try:
            await client.workflow_service.describe_namespace(
                DescribeNamespaceRequest(namespace=name), timeout=PATIENCE
            )
        except RPCError as problem:
            raise translated(self.site, problem) from problem
        try:
            found = await client.operator_service.list_search_attributes(
                ListSearchAttributesRequest(namespace=name), timeout=PATIENCE
            )
        except RPCError as problem:
            # Whoever may use a namespace may not always look at it; the first run will tell.
            if problem.status in (*_REFUSED, RPCStatusCode.UNIMPLEMENTED):
                return
            raise translated(self.site, problem) from problem
        keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        known = [each for each, kind in found.custom_attributes.items() if kind == keyword]
        if missing := [each for each in ATTRIBUTES if each not in known]:
            place = f"the namespace '{name}' of the Temporal server at {self.site.settings.address}"
            raise missing_attributes(self.site, place, missing)

    # Versions of workers

    async def current_version(self) -> str | None:
        """The version whose workers get what is new; None if there is none yet."""
        request = DescribeWorkerDeploymentRequest(
            namespace=self.client.namespace, deployment_name=self.queue
        )
        try:
            service = self.client.workflow_service
            found = await service.describe_worker_deployment(request, timeout=PATIENCE)
        except RPCError as problem:
            if problem.status == RPCStatusCode.NOT_FOUND:
                return None
            raise
        version = found.worker_deployment_info.routing_config.current_deployment_version
        return version.build_id or None

    async def make_current(self) -> None:
        """From now on, workers of our version get what is new."""
        await self.client.workflow_service.set_worker_deployment_current_version(
            SetWorkerDeploymentCurrentVersionRequest(
                namespace=self.client.namespace,
                deployment_name=self.queue,
                build_id=self.site.version,
                identity=self.site.host,
                ignore_missing_task_queues=True,
            ),
            timeout=PATIENCE,
        )

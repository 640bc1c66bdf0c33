"""A server that stands in for GitHub: it keeps pull requests, and holds every request and every
answer against GitHub's own description. Faults can be ordered beforehand.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec

from tests.integration.github_acts import ACTS, NAME, OURSELVES, OWNER, Reply, error
from tests.integration.github_description import decoded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.integration.github_description import Description, Operation

TOKEN = "ghp_standInSecret0123456789"
BASE_SHA = "b" * 40
_HERE = "/repos/{owner}/{repo}"


class Fault(NamedTuple):
    """Something that goes wrong with the first request that it fits.

    `answer`: it is answered by this, and nothing is done. `drop`: the connection is closed before
    anything is done. `lose`: it is done, and the connection closed. `cut`: it is done, and the
    connection closed in the middle of the answer. `slow`: the answer comes byte by byte.
    """

    method: str
    ending: str
    kind: Literal["answer", "drop", "lose", "cut", "slow"]
    status: int = 0
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Asked(NamedTuple):
    """A request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Suite(NamedTuple):
    """The runs of one app: its name, how far they are, how they ended and how many there are."""

    app: str
    status: str
    conclusion: str | None = None
    runs: int = 0


class Rules(msgspec.Struct):
    """What the repository and its base ask of pull requests, and what the token may do."""

    base: str = "main"
    checks: list[str] = []
    # Required by rulesets, a ruleset each.
    ruleset_checks: list[str] = []
    approvals: int = 0
    threads: bool = False
    forbidden: list[str] = []
    linear: bool = False
    queue: bool = False
    archived: bool = False
    may_push: bool = True
    is_admin: bool = False

    @property
    def is_protected(self) -> bool:
        """Whether anything is asked of whoever changes the base."""
        return bool(self.checks or self.approvals or self.linear)


class GitHub(ThreadingHTTPServer):
    """One repository with its pull requests, comments and checks."""

    daemon_threads = True

    def __init__(self, description: Description) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.description = description
        self.lock = threading.Lock()
        self.pulls: dict[int, dict[str, Any]] = {}
        # What a pull request changes, file by file; some lines cannot be commented on all the same.
        self.patches: dict[str, str] = {}
        self.refuses_lines = False
        self.statuses: list[tuple[str, str]] = []
        self.runs: list[tuple[str, str, str | None]] = []
        # Besides the one of the runs: apps that only may run something, or have not begun.
        self.suites: list[Suite] = []
        # What a failed run says about itself, and about lines.
        self.output: dict[str, Any] = {}
        self.app = "octoapp"
        self.annotations: list[dict[str, Any]] = []
        self.reviews: list[dict[str, Any]] = []
        self.remarks: dict[int, list[tuple[str, int, str]]] = {}
        self.rules = Rules()
        self.checked: dict[str, list[tuple[str, str, str | None]]] = {}
        self.heads: dict[str, str] = {}
        self.merges: list[int] = []
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        self.problems: list[str] = []

    @property
    def comments(self) -> list[str]:
        """What Hookline has said, the oldest first."""
        ours = [each for each in self.reviews if each["user"]["login"] == OURSELVES]
        return [each["body"] for each in ours]

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def acts(self, method: str, ending: str = "") -> int:
        """How many requests of that method came for a path with that end."""
        return sum(a.method == method and a.path.endswith(ending) for a in self.asked)

    def fault_for(self, method: str, path: str) -> Fault | None:
        """The fault that was ordered for this request; it is used up."""
        for fault in self.faults:
            if fault.method == method and path.endswith(fault.ending):
                self.faults.remove(fault)
                return fault
        return None

    def do(self, operation: Operation, query: dict[str, str], body: Any) -> Reply:
        """Carry out a request."""
        values = operation.values
        if (values["owner"], values["repo"]) != (OWNER, NAME):
            return error(404, "Not Found")
        act = ACTS[operation.method, operation.path.removeprefix(_HERE)]
        return act(self, values, query, body)

    def add_pull(
        self, branch: str, base: str, title: str = "t", body: str | None = "", place: str = ""
    ) -> dict[str, Any]:
        """A pull request that is there, of this repository or of a fork."""
        pull: dict[str, Any] = self.description.example("pull-request")
        number = len(self.pulls) + 1
        pull |= {"number": number, "title": title, "body": body, "state": "open", "merged": False}
        pull |= {"merged_at": None, "merge_commit_sha": "e" * 40, "mergeable": True}
        pull |= {"requested_reviewers": [], "requested_teams": []}
        pull["html_url"] = f"https://github.com/{OWNER}/{NAME}/pull/{number}"
        place = place or f"{OWNER}/{NAME}"
        pull["head"]["ref"], pull["head"]["sha"] = branch, self.heads.get(branch, "a" * 40)
        pull["head"]["label"] = f"{place.split('/')[0]}:{branch}"
        pull["head"]["repo"]["full_name"] = place
        pull["base"]["ref"], pull["base"]["sha"] = base, BASE_SHA
        self.pulls[number] = pull
        return pull

    def review(
        self,
        login: str,
        state: str,
        head: str,
        *,
        role: str = "MEMBER",
        body: str = "",
        remarks: Sequence[tuple[str, int, str]] = (),
    ) -> None:
        """Somebody says what they think of a commit."""
        user = self.description.example("pull-request-review-items")[0]["user"]
        kind = "Bot" if login.endswith("[bot]") else "User"
        number = len(self.reviews) + 1
        said: dict[str, Any] = {
            "state": state,
            "commit_id": head,
            "author_association": role,
            "body": body,
        }
        said |= {"id": number, "user": {**user, "login": login, "type": kind}}
        self.reviews.append(said)
        self.remarks[number] = list(remarks)

    def patches_of(self, pull: dict[str, Any]) -> dict[str, str]:
        """The diff of a pull request, file by file."""
        return self.patches

    def knows(self, sha: str) -> bool:
        """Whether a commit was pushed here."""
        return True

    def runs_of(self, sha: str) -> list[tuple[str, str, str | None]]:
        """The check runs of a commit: name, status and conclusion."""
        return self.checked.get(sha, self.runs)

    def suites_of(self, sha: str) -> list[Suite]:
        """The check suites of a commit."""
        runs = self.runs_of(sha)
        is_over = all(status == "completed" for _, status, _ in runs)
        ended = "success" if all(end in ("success", None) for _, _, end in runs) else "failure"
        known = any(each.app == self.app for each in self.suites)
        status, end = ("completed", ended) if is_over else ("in_progress", None)
        own = Suite(self.app, status, end, len(runs))
        return [*([own] if runs and not known else []), *self.suites]

    def lacks(self, pull: dict[str, Any], method: str) -> str | None:
        """Why the rules of the base do not let a pull request in."""
        rules, head = self.rules, pull["head"]["sha"]
        if method in rules.forbidden:
            return f"{method.capitalize()} merges are not allowed on this repository."
        if rules.queue:
            return "Changes must be made through the merge queue"
        runs = self.runs_of(head)
        green = {name for name, _, end in runs if end == "success"}
        green |= {name for name, state in self.statuses if state == "success"}
        if not {*rules.checks, *rules.ruleset_checks} <= green:
            return "Required status check is expected."
        last = {each["user"]["login"]: each["state"] for each in self.reviews}
        if "CHANGES_REQUESTED" in last.values() and rules.approvals:
            return "Changes were requested."
        given = [each for each in self.reviews if each["commit_id"] == head]
        if sum(each["state"] == "APPROVED" for each in given) < rules.approvals:
            return f"At least {rules.approvals} approving review is required."
        return None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of these tests."""


class Handler(BaseHTTPRequestHandler):
    """Holds requests against the description, and answers by what the repository says."""

    server: GitHub

    def _handle(self) -> None:
        hub, target = self.server, urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with hub.lock:
            hub.asked.append(Asked(self.command, target.path, headers, decoded(data)))
            operation = hub.description.operation(self.command, target.path)
            if operation is None:
                hub.problems.append(f"no operation {self.command} {target.path}")
                return self._send(error(404, "Not Found"))
            self._answer(operation, dict(parse_qsl(target.query)), hub.asked[-1])
        return None

    do_GET = do_POST = do_PATCH = do_PUT = _handle

    def _answer(self, operation: Operation, query: dict[str, str], asked: Asked) -> None:
        hub = self.server
        found = hub.description.request_problems(operation, query, asked.body)
        found += _header_problems(asked)
        hub.problems += [f"{asked.method} {asked.path}: {each}" for each in found]
        fault = hub.fault_for(asked.method, asked.path)
        if fault and fault.kind == "drop":
            return self._hang_up()
        if fault and fault.kind == "slow":
            return self._drip()
        if fault and fault.kind == "answer":
            return self._send_bytes(fault.status, fault.body, fault.headers)
        if asked.headers.get("authorization") != f"Bearer {TOKEN}":
            return self._send(error(401, "Bad credentials"))
        reply = hub.do(operation, query, asked.body)
        wrong = hub.description.answer_problems(operation, reply.status, reply.value)
        hub.problems += [f"answer to {asked.method} {asked.path}: {each}" for each in wrong]
        if fault and fault.kind == "lose":
            return self._hang_up()
        return self._send(reply, cut=fault is not None)

    def _send(self, reply: Reply, *, cut: bool = False) -> None:
        data = json.dumps(reply.value).encode()
        if cut:
            self._send_bytes(reply.status, data[: len(data) // 2], reply.headers, len(data))
            self._hang_up()
        else:
            self._send_bytes(reply.status, data, reply.headers)

    def _send_bytes(
        self, status: int, data: bytes, headers: Mapping[str, str], length: int | None = None
    ) -> None:
        self.send_response_only(status)
        if "date" not in headers:
            self.send_header("date", self.date_time_string())
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(length or len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _drip(self) -> None:
        """Answer without end, until nobody listens any more."""
        self._send_bytes(200, b"[", {}, length=10_000_000)
        while True:
            self.wfile.write(b" ")
            time.sleep(0.02)

    def _hang_up(self) -> None:
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Tests need no access log."""


def _header_problems(asked: Asked) -> list[str]:
    """What GitHub asks of every request, by its guide."""
    wanted = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}
    if asked.body is not None:
        wanted["content-type"] = "application/json"
    found = [f"header {name}" for name, value in wanted.items() if asked.headers.get(name) != value]
    return found if asked.headers.get("user-agent") else [*found, "no user agent"]

"""A server that stands in for GitHub: it keeps pull requests, and holds every request and every
answer against GitHub's own description. Faults can be ordered beforehand.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tests.integration.github_description import decoded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.integration.github_description import Description, Operation

TOKEN = "ghp_standInSecret0123456789"
OWNER, NAME = "acme", "widgets"
BASE_SHA = "b" * 40
MERGE_SHA = "c" * 40
_HERE = "/repos/{owner}/{repo}"


class Fault(NamedTuple):
    """Something that goes wrong with the first request that it fits.

    `answer`: it is answered by this, and nothing is done. `drop`: the connection is closed before
    anything is done. `lose`: it is done, and the connection closed. `cut`: it is done, and the
    connection closed in the middle of the answer.
    """

    method: str
    ending: str
    kind: Literal["answer", "drop", "lose", "cut"]
    status: int = 0
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Asked(NamedTuple):
    """A request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Reply(NamedTuple):
    """What is answered."""

    status: int
    value: Any
    headers: Mapping[str, str] = {}


class GitHub(ThreadingHTTPServer):
    """One repository with its pull requests, comments and checks."""

    daemon_threads = True

    def __init__(self, description: Description) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.description = description
        self.lock = threading.Lock()
        self.pulls: dict[int, dict[str, Any]] = {}
        self.comments: list[str] = []
        self.statuses: list[tuple[str, str]] = []
        self.runs: list[tuple[str, str, str | None]] = []
        # What a failed run says about itself, and about lines.
        self.output: dict[str, Any] = {}
        self.app = "octoapp"
        self.annotations: list[dict[str, Any]] = []
        self.reviews: list[dict[str, Any]] = []
        self.heads: dict[str, str] = {}
        self.merges: list[int] = []
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        self.problems: list[str] = []

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
        act = _ACTS[operation.method, operation.path.removeprefix(_HERE)]
        return act(self, values, query, body)

    def add_pull(
        self, branch: str, base: str, title: str = "t", body: str | None = "", place: str = ""
    ) -> dict[str, Any]:
        """A pull request that is there, of this repository or of a fork."""
        pull: dict[str, Any] = self.description.example("pull-request")
        number = len(self.pulls) + 1
        pull |= {"number": number, "title": title, "body": body, "state": "open", "merged": False}
        pull |= {"merged_at": None, "merge_commit_sha": "e" * 40, "mergeable": True}
        pull["requested_teams"] = []  # the example's teams lack a field that its schema requires
        pull["html_url"] = f"https://github.com/{OWNER}/{NAME}/pull/{number}"
        place = place or f"{OWNER}/{NAME}"
        pull["head"]["ref"], pull["head"]["sha"] = branch, self.heads.get(branch, "a" * 40)
        pull["head"]["label"] = f"{place.split('/')[0]}:{branch}"
        pull["head"]["repo"]["full_name"] = place
        pull["base"]["ref"], pull["base"]["sha"] = base, BASE_SHA
        self.pulls[number] = pull
        return pull

    def review(
        self, login: str, state: str, head: str, *, role: str = "MEMBER", body: str = ""
    ) -> None:
        """Somebody says what they think of a commit."""
        user = self.description.example("pull-request-review-items")[0]["user"]
        kind = "Bot" if login.endswith("[bot]") else "User"
        said = {"state": state, "commit_id": head, "author_association": role, "body": body}
        self.reviews.append({**said, "user": {**user, "login": login, "type": kind}})

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of these tests."""


def error(status: int, message: str, **more: Any) -> Reply:
    """An error as GitHub words it."""
    page = "https://docs.github.com/rest"
    return Reply(status, {"message": message, "documentation_url": page, **more})


def _list(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    head, base, state = query.get("head"), query.get("base"), query.get("state", "open")
    simple = hub.description.example("pull-request-simple-items")[0]
    found = [
        {name: pull.get(name, value) for name, value in simple.items()}
        for pull in hub.pulls.values()
        if (state == "all" or pull["state"] == state)
        and head in (None, pull["head"]["label"])
        and base in (None, pull["base"]["ref"])
    ]
    return _page(found, query)


def _open(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    head, base = body["head"], body["base"]
    label = f"{OWNER}:{head}"
    for pull in hub.pulls.values():
        if (pull["head"]["label"], pull["base"]["ref"], pull["state"]) == (label, base, "open"):
            return _invalid(f"A pull request already exists for {label}.")
    if head == "nothing-new":
        return _invalid(f"No commits between {base} and {head}")
    return Reply(201, hub.add_pull(head, base, body["title"], body.get("body")))


def _invalid(message: str) -> Reply:
    detail = {"resource": "PullRequest", "code": "custom", "message": message}
    return error(422, "Validation Failed", errors=[detail])


def _get(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    pull = hub.pulls.get(int(values["pull_number"]))
    return error(404, "Not Found") if pull is None else Reply(200, pull)


def _update(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    found = _get(hub, values, query, body)
    if found.status == 200:
        found.value.update(body)
    return found


def _merge(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    pull = hub.pulls[int(values["pull_number"])]
    if pull["state"] == "closed" or pull["mergeable"] is not True:
        return error(405, "Pull Request is not mergeable")
    if body["sha"] != pull["head"]["sha"]:
        return error(409, "Head branch was modified. Review and try the merge again.")
    pull |= {"state": "closed", "merged": True, "merged_at": "2026-01-17T10:00:00Z"}
    pull["merge_commit_sha"] = MERGE_SHA
    hub.merges.append(pull["number"])
    return Reply(200, {"sha": MERGE_SHA, "merged": True, "message": "Pull Request merged"})


def _remarks(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    example = hub.description.example("issue-comment")
    return _page([{**example, "body": text} for text in hub.comments], query)


def _remark(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    hub.comments.append(body["body"])
    return Reply(201, {**hub.description.example("issue-comment"), "body": body["body"]})


def _statuses(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    combined = hub.description.example("combined-commit-status")
    example = combined["statuses"][0]
    found = [
        {**example, "context": name, "state": state, "target_url": f"https://ci.test/{name}"}
        for name, state in hub.statuses
    ]
    page = _page(found, query)
    combined |= {"statuses": page.value, "total_count": len(found), "sha": values["ref"]}
    return Reply(200, combined, page.headers)


def _runs(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    example = hub.description.example("check-run-paginated")["check_runs"][0]
    found: list[dict[str, Any]] = []
    for name, status, conclusion in hub.runs:
        page: dict[str, Any] = {"html_url": f"https://github.test/runs/{name}", "name": name}
        page |= {"output": {**example["output"], **hub.output}, "id": len(found) + 1}
        page["app"] = {**example["app"], "slug": hub.app}
        found.append({**example, **page, "status": status, "conclusion": conclusion})
    listed = _page(found, query)
    return Reply(200, {"total_count": len(found), "check_runs": listed.value}, listed.headers)


def _annotations(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    example = hub.description.example("check-annotation-items")[0]
    return _page([{**example, **each} for each in hub.annotations], query)


def _reviews(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    example = hub.description.example("pull-request-review-items")[0]
    return _page([{**example, **review} for review in hub.reviews], query)


def _page(items: list[Any], query: dict[str, str]) -> Reply:
    size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
    more = len(items) > page * size
    link = {"link": f'<https://elsewhere.test/?page={page + 1}>; rel="next"'} if more else {}
    return Reply(200, items[(page - 1) * size : page * size], link)


_ACTS = {
    ("GET", "/pulls"): _list,
    ("POST", "/pulls"): _open,
    ("GET", "/pulls/{pull_number}"): _get,
    ("PATCH", "/pulls/{pull_number}"): _update,
    ("PUT", "/pulls/{pull_number}/merge"): _merge,
    ("GET", "/pulls/{pull_number}/reviews"): _reviews,
    ("GET", "/issues/{issue_number}/comments"): _remarks,
    ("POST", "/issues/{issue_number}/comments"): _remark,
    ("GET", "/commits/{ref}/status"): _statuses,
    ("GET", "/commits/{ref}/check-runs"): _runs,
    ("GET", "/check-runs/{check_run_id}/annotations"): _annotations,
}


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

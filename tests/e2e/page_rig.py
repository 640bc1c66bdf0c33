"""The server of the page as a real process, and a client that holds every answer against the API's
own description."""

from __future__ import annotations

import json
import re
import signal
import threading
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.e2e.conftest import PATIENCE, eventually

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping

    from tests.e2e.conftest import Cli

DESCRIPTION: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "openapi.json").read_text(encoding="utf-8")
)


class Page:
    """A server that listens, and someone who looks at it with a token."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        self.told: dict[str, Any] = json.loads(line)
        self.base, self.token = self.told["url"].split("/#token=")
        self.port = int(self.base.rpartition(":")[2])
        self.http = httpx2.Client(base_url=self.base, timeout=PATIENCE)
        self.answered: set[tuple[str, str]] = set()
        self.streams: list[Lines] = []

    @property
    def viewer(self) -> str:
        """The token of those who only look."""
        return str(self.told["viewer"]).split("/#token=")[1]

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "own",
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """One request, with the person's token unless it is said otherwise."""
        token = self.token if token == "own" else token
        bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
        given = {**bearer, **(headers or {})}
        if method == "GET":
            return self.http.get(path, headers=given)
        return self.http.post(path, json={} if body is None else body, headers=given)

    def get(self, path: str) -> Any:
        """An answer, which must be one, and as it is described."""
        return self._checked("GET", path, self.ask("GET", path))

    def text(self, path: str) -> str:
        """An answer that is a plain text."""
        answer = self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("text/plain")
        return answer.text

    def do(self, path: str, body: Any = None) -> Any:
        """What a person does, which must succeed."""
        return self._checked("POST", path, self.ask("POST", path, body))

    def refused(self, method: str, path: str, body: Any = None, **how: Any) -> tuple[int, str, str]:
        """Status, code and message of a request that must not succeed."""
        answer = self.ask(method, path, body, **how)
        assert answer.status_code >= 400, answer.text
        check(answer.json(), {"$ref": "#/components/schemas/RefusedAnswer"})
        error = answer.json()["error"]
        return answer.status_code, error["code"], error["message"]

    def _checked(self, method: str, path: str, answer: httpx2.Response) -> Any:
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        assert answer.headers["content-type"] == "application/json"
        described = operation(method, path)
        self.answered.add((method, described["operationId"]))
        content = described["responses"]["200"]["content"]
        found = answer.json()
        check(found, content["application/json"]["schema"])
        return found

    def stream(self, after: int | None = None, path: str = "/api/stream") -> Lines:
        """Begin to read the stream."""
        query = "" if after is None else f"?after={after}"
        self.streams.append(Lines(self, f"{path}{query}"))
        return self.streams[-1]

    def end(self, number: int = signal.SIGTERM) -> str:
        """End it by a signal; what it said on stderr."""
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, said = self.process.communicate(timeout=PATIENCE)
        for stream in self.streams:
            stream.join()
        assert "Traceback" not in said, said
        return said


class Lines:
    """The lines of a stream, read in a thread."""

    def __init__(self, page: Page, path: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self.is_over = False
        self._page, self._path = page, path
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        headers = {"Authorization": f"Bearer {self._page.token}"}
        schema = operation("GET", self._path)["responses"]["200"]["content"]
        address = f"{self._page.base}{self._path}"
        try:
            with httpx2.stream("GET", address, headers=headers, timeout=PATIENCE) as answer:
                assert answer.headers["content-type"] == "application/x-ndjson"
                for line in answer.iter_lines():
                    found = json.loads(line)
                    check(found, schema["application/x-ndjson"]["schema"])
                    self.lines.append(found)
        except httpx2.HTTPError:  # the server was killed
            pass
        finally:
            self.is_over = True

    def until(self, what: str) -> None:
        """Wait until a line has come with this type or kind."""
        eventually(lambda: any(what in (e.get("type"), e.get("kind")) for e in self.lines), what)

    @property
    def seqs(self) -> list[int]:
        """The events that came."""
        return [each["seq"] for each in self.lines if each["kind"] == "event"]

    def join(self) -> None:
        """Wait until the server is heard no more."""
        self._thread.join(PATIENCE)
        assert self.is_over


@contextmanager
def served(cli: Cli, *options: str, env: Mapping[str, str] | None = None) -> Iterator[Page]:
    """A server for a project, ended at the end."""
    words = ("serve", "--port", "0", "--json", "--viewer-token", *options)
    page = Page(cli.start(*words, env=env))
    yield page
    page.end()


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    found = []
    for path in DESCRIPTION["paths"]:
        parts = re.split(r"\{\w+\}", path)
        found.append((path, re.compile("[^/?]+".join(map(re.escape, parts)))))
    return sorted(found, key=lambda each: each[0].count("{"))


def operation(method: str, path: str) -> dict[str, Any]:
    """What the description says of an address."""
    plain = path.partition("?")[0]
    for described, pattern in _patterns():
        if pattern.fullmatch(plain) and method.lower() in DESCRIPTION["paths"][described]:
            found: dict[str, Any] = DESCRIPTION["paths"][described][method.lower()]
            return found
    raise AssertionError(f"{method} {path} is not described")


def check(value: Any, schema: Mapping[str, Any]) -> None:
    """Hold a value against a schema of the description, which allows no other fields."""
    validator = _validator(json.dumps(schema))
    problems = [f"{each.json_path}: {each.message}" for each in validator.iter_errors(value)]
    assert not problems, problems[:5]


@cache
def _validator(schema: str) -> Draft202012Validator:
    strict = {
        name: {**each, "additionalProperties": False} if "properties" in each else each
        for name, each in DESCRIPTION["components"]["schemas"].items()
    }
    return Draft202012Validator({**json.loads(schema), "components": {"schemas": strict}})

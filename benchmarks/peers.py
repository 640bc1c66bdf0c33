"""The same steps with the npm package @a5c-ai/babysitter-sdk, where it is installed.

`make bench-peers`. The package is looked for on the PATH, in `node_modules/` of this checkout, and
where npm installs programs for everyone; without it there is nothing to compare, and that is said.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.commands import install
from benchmarks.flows import post_words, waiting_run
from benchmarks.measure import Plan, Result, by_turns
from benchmarks.stores import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.commands import Installed

PACKAGE = "@a5c-ai/babysitter-sdk"
_CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PROCESS = """\
import {{ defineTask }} from '{package}/dist/index.js';
const step = defineTask('step', (args) => ({{
  kind: 'breakpoint', title: `step ${{args.n}}`, breakpoint: {{ question: 'wait' }},
}}));
export async function process(inputs, ctx) {{
  const all = Array.from({{ length: inputs.count }}, (_, n) => () => ctx.task(step, {{ n }}));
  return await ctx.parallel.all(all);
}}
"""


class Peer(NamedTuple):
    """The package as it is installed, and a run of its own."""

    package: str
    version: str
    folder: str
    env: dict[str, str]

    @property
    def run_folder(self) -> str:
        """Where the run lies."""
        return os.path.join(self.folder, "runs", "bench")

    def command(self, *words: str) -> str:
        """Carry out a command of the package; what it prints."""
        program = os.path.join(self.package, "dist", "cli", "main.js")
        done = subprocess.run(
            ("node", program, *words, "--json"),
            cwd=self.folder,
            env=self.env,
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return done.stdout


def measure(plan: Plan) -> Iterator[Result]:
    """Listing what is pending and posting a result, with both programs."""
    package = find()
    if package is None:
        told = f"{PACKAGE} is not installed: `npm install -g {PACKAGE}` makes this comparison work"
        print(told, file=sys.stderr)
        return
    rounds = plan.rounds(20, 4)
    peer = _peer(package, os.path.join(plan.folder, "peer"))
    pending = _begin(peer, rounds + 1)
    installed = install(os.path.join(plan.folder, "installed"))
    root = os.path.join(plan.folder, "ours")
    waiting_run(installed, root, rounds + 1)
    yield from _compare(peer, pending, installed, root, rounds)


def find(name: str = PACKAGE, program: str = "babysitter") -> str | None:
    """The folder of an npm package that has this program, or None."""
    places = [os.path.join(_CHECKOUT, "node_modules", name)]
    if found := shutil.which(program):
        below, _, _ = os.path.realpath(found).rpartition(f"/node_modules/{name}/")
        places.append(os.path.join(below, "node_modules", name))
    if shutil.which("npm"):
        listed = subprocess.run(("npm", "root", "-g"), capture_output=True, text=True, check=False)
        places.append(os.path.join(listed.stdout.strip(), name))
    if not shutil.which("node"):
        return None
    return next((p for p in places if os.path.isfile(os.path.join(p, "package.json"))), None)


def version(package: str) -> str:
    """The version of an installed npm package."""
    with open(os.path.join(package, "package.json"), encoding="utf-8") as file:
        return str(json.load(file)["version"])


def _peer(package: str, folder: str) -> Peer:
    os.makedirs(os.path.join(folder, "home"))
    env = {**environment(folder), "HOME": os.path.join(folder, "home")}
    return Peer(package, version(package), folder, env)


def _begin(peer: Peer, count: int) -> list[str]:
    """A run that waits for so many results; the ids that they are posted under."""
    with open(os.path.join(peer.folder, "process.mjs"), "w", encoding="utf-8") as file:
        file.write(_PROCESS.format(package=peer.package))
    with open(os.path.join(peer.folder, "inputs.json"), "w", encoding="utf-8") as file:
        json.dump({"count": count}, file)
    entry = ("--process-id", "bench", "--entry", f"{peer.folder}/process.mjs#process")
    place = ("--runs-dir", f"{peer.folder}/runs", "--run-id", "bench", "--inputs", "inputs.json")
    peer.command("run:create", *entry, *place, "--non-interactive")
    peer.command("run:iterate", peer.run_folder)
    listed: dict[str, Any] = json.loads(peer.command("task:list", peer.run_folder, "--pending"))
    return [task["effectId"] for task in listed["tasks"]]


def _compare(
    peer: Peer, pending: list[str], installed: Installed, root: str, rounds: int
) -> Iterator[Result]:
    theirs, numbers = iter(pending), iter(range(rounds + 1))

    def ours(*words: str) -> None:
        installed.run("hookline", *words, "--json", cwd=root)

    def post() -> None:
        words = ("--status", "ok", "--value-inline", "1")
        peer.command("task:post", peer.run_folder, next(theirs), *words)

    took = by_turns(
        (
            lambda: ours("effect", "list", "R-1", "--pending"),
            lambda: peer.command("task:list", peer.run_folder, "--pending"),
        ),
        rounds,
    )
    yield _result("effect list --pending", took, peer, "task:list --pending")
    took = by_turns((lambda: ours(*post_words(next(numbers))), post), rounds)
    yield _result("effect post", took, peer, "task:post")


def _result(name: str, took: list[float], peer: Peer, theirs: str) -> Result:
    floor = f"{theirs} of {PACKAGE} {peer.version}"
    return Result(f"hookline {name}", took[0], took[1], floor, None)

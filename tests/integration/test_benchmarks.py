"""The benchmarks run, print a ratio for each figure, and measure in stores that are sound."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.stores import WALKS, filled

from hookline.domain.projection import Fold
from hookline.domain.tasks import task_id

CHECKOUT = Path(__file__).resolve().parents[2]
SIZE = 40


def bench(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k != "HOOKLINE_DIR"}
    return subprocess.run(
        (sys.executable, "-m", "benchmarks", *arguments),
        cwd=CHECKOUT,
        env={**env, "HOOKLINE_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_benchmark_prints_its_ratio_to_the_floor(tmp_path: Path) -> None:
    done = bench(tmp_path, "dispatch", "--quick")
    assert (done.returncode, done.stderr) == (0, "")
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["name", "ours", "floor", "ratio", "aim", "floor", "is"]
    assert [row[:24].rstrip() for row in rows] == [
        "dispatch 1 python hooks",
        "dispatch 10 python hooks",
        "dispatch 100 python hook",
    ]
    for row in rows:
        ratio = row[48:].split()[4]
        assert float(ratio) > 0


def test_json_has_the_same_figures_for_programs(tmp_path: Path) -> None:
    done = bench(tmp_path, "dispatch", "--quick", "--json")
    for found in json.loads(done.stdout):
        assert found["ratio"] == found["ours"] / found["floor"]
        assert found["met"] is (found["ratio"] <= found["at_most"])


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    done = bench(tmp_path, "nonsense", "--quick")
    assert done.returncode == 2
    assert "no benchmark is called nonsense" in done.stderr


def test_a_filled_store_is_what_its_log_says(tmp_path: Path) -> None:
    app = filled(str(tmp_path), SIZE).app
    with app.read() as view:
        fold = Fold().add_all(view.log.stream())
        rows = {task_id(row["number"]): row for row in view.graph.rows()}
        edges = {(edge.from_id, edge.type, edge.to_id) for edge in view.graph.edges()}
        last, gaps, misranked = view.log.last(), view.log.gaps(), view.graph.misranked()
    app.close()
    assert len(rows) == SIZE + sum(WALKS) + len(WALKS)
    assert (last > len(rows), gaps, misranked) == (True, 0, 0)
    assert edges == fold.edges
    assert {name: _kept(row) for name, row in rows.items()} == {
        name: _kept({**task, "unmet": fold.unmet(name)}) for name, task in fold.tasks.items()
    }


def _kept(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        row.get(column)
        for column in ("state", "goal", "priority", "result", "completed_at", "unmet")
    )

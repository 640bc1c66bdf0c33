"""`hookline insights`: how work goes, in tables, as CSV, or as the SQL that finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errors import BadInput
from hookline.queries.insights.csv import csv_of_all, csv_text
from hookline.queries.insights.read import insight_facts, insights
from hookline.queries.insights.selecting import Wished, selected
from hookline.queries.insights.tables import TABLES
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.insights.lines import show_facts, show_table
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, next_step, say, say_bytes

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.insights import Selection


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("table", nargs="?", metavar="TABLE", help=f"only {', '.join(TABLES)}")
    when = "18:00, yesterday, 2h, 4w, a date or a time"
    p.add_argument("--since", metavar="WHEN", help=f"what happened from then on: {when}")
    p.add_argument("--until", metavar="WHEN", help="what happened before")
    p.add_argument("--type", metavar="T", help="only tasks of this type")
    p.add_argument("--agent", metavar="NAME", help="only of this agent")
    p.add_argument("--by", metavar="PART", default="", help="split by week, type, agent or several")
    rows = "the rows behind a table's figures, of those whose COLUMN has this value"
    p.add_argument("--rows", nargs="*", metavar="COLUMN=VALUE", help=rows)
    form = p.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values")
    form.add_argument("--sql", action="store_true", help="the statements that find the tables")


def _insights(args: Namespace) -> None:
    with reading() as app:
        wished = Wished(args.since, args.until, args.type, args.agent, args.by)
        asked = selected(wished, app.store.now())
        if args.rows is not None:
            _tell_rows(args, app, asked)
            return
        found = insights(app, asked, TABLES if args.table is None else (args.table,))
    if args.csv:
        one = args.table is not None
        text = csv_text(found.tables[0]) if one else csv_of_all(found.tables)
        say_bytes(text.encode("utf-8", "replace"))
    elif args.sql:
        for table in found.tables:
            say(f"-- {table.title}")
            for line in f"{table.sql};".split("\n"):
                say(line)
    elif answer(args, found):
        for number, table in enumerate(found.tables):
            if number:
                say()
            show_table(table)
        next_step("hookline insights gates --rows", "the rows behind a table")


def _tell_rows(args: Namespace, app: App, asked: Selection) -> None:
    if args.table is None or args.sql:
        raise BadInput("--rows is for one table", help=f"name it: {', '.join(TABLES)}")
    match = dict(_condition(each) for each in args.rows)
    found = insight_facts(app, args.table, asked, match)
    if args.csv:
        say_bytes(csv_text(found).encode("utf-8", "replace"))
    elif answer(args, found):
        show_facts(found)


def _condition(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise BadInput(f"{text[:80]!r} is not COLUMN=VALUE", help="write `--rows gate=lint`")
    return name, value


COMMANDS = {
    "insights": Command("show how work is going, and what to improve", _arguments, _insights)
}

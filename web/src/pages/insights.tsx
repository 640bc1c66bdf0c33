// What would be better: figures over many sessions, each with the rows behind it, its statement in
// SQL and its table as CSV.
import { get } from "../api";
import type { InsightColumn, InsightFacts, InsightTable, Insights } from "../api/schema";
import { addressOfNode } from "../places";
import { useAnswer } from "../query";
import { go, href, route, withOption } from "../router";
import { tell } from "../tell";
import { count, money, plural, took } from "../time";
import { Button, Choice, Empty, Loading, Problem, Time } from "../ui/basics";
import { Lines } from "../ui/chart";
import { Icon } from "../ui/icon";
import { Page } from "../ui/page";
import { Panel } from "../ui/panel";
import { wordOf } from "../ui/status";
import { Value } from "../ui/text";

const SPANS = [["7", "7 days"], ["30", "30 days"], ["", "All time"]] as const;
const SPLITS = [["", "Together"], ["week", "By week"], ["type", "By type"], ["agent", "By agent"]] as const;
type Cell = string | number | null;

/** What is asked of the server, from the options in the address. */
function selection(): URLSearchParams {
  const { options } = route.value;
  const wanted = new URLSearchParams();
  const days = Number(options.get("days"));
  // The begin of a day, so that the same address is asked for all day long.
  if (days) wanted.set("since", `${new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)}T00:00:00Z`);
  const by = options.get("by");
  if (by) wanted.set("by", by);
  return wanted;
}

export function InsightsAlone({ parts }: { parts: string[] }) {
  const { options } = route.value;
  const { data, error } = useAnswer<Insights>(`/api/insights?${selection()}`, (line) => /^(session_ended|task_completed|gate_)/.test(line.type));
  const table = data?.tables.find((each) => each.name === parts[1]);
  const tools = (
    <>
      <Choice label="Since" options={SPANS} chosen={(options.get("days") ?? "") as ""} choose={(days) => go(withOption("days", days || null))} />
      <Choice label="Rows" options={SPLITS} chosen={(options.get("by") ?? "") as ""} choose={(by) => go(withOption("by", by || null))} />
    </>
  );
  const beside = table ? <FactsPanel key={table.name} table={table} /> : null;
  return (
    <Page title="Insights" tools={tools} beside={beside}>
      {error && <Problem of={error} />}
      {!data && !error && <Loading />}
      {data && (
        <div class="insights">
          {data.tables.every((each) => !each.rows.length) && (
            <Empty title="Nothing to learn from yet" command="hookline insights">
              After some sessions: what a completed task takes, which gate rejects what, which checks are flaky.
            </Empty>
          )}
          {data.tables.filter((each) => each.rows.length).map((each) => <Table key={each.name} table={each} />)}
        </div>
      )}
    </Page>
  );
}

function shown(value: Cell, column: InsightColumn): string {
  if (value === null) return "–";
  if (typeof value === "string") return column.name === "state" ? wordOf(value) : value;
  const texts: Partial<Record<InsightColumn["unit"], string>> = { usd: money(value), ms: took(value / 1000), percent: `${Math.round(value)}%`, count: count(value) };
  return texts[column.unit] ?? String(Math.round(value * 100) / 100);
}

function addressOf(value: Cell, column: InsightColumn): string | null {
  if (value === null) return null;
  return column.unit === "seq" ? href("events", value) : addressOfNode(String(value));
}

function Table({ table }: { table: InsightTable }) {
  const csv = async () => {
    const wanted = selection();
    const text = await get<string>(`/api/insights/${encodeURIComponent(table.name)}/csv?${wanted}`);
    await navigator.clipboard.writeText(text);
    tell("The table was copied as CSV.");
  };
  const sql = async () => {
    await navigator.clipboard.writeText(table.sql);
    tell("The statement was copied.");
  };
  return (
    <section class="card" aria-label={table.title}>
      <header>
        <h2>{table.title}</h2>
        <div class="actions">
          <Button kind="quiet" icon="copy" onClick={sql}>SQL</Button>
          <Button kind="quiet" icon="copy" onClick={csv}>CSV</Button>
        </div>
      </header>
      <p class="faint">{table.about}</p>
      {table.advice.map((advice, index) => (
        <p key={index} class="advice">
          <Icon name="attention" /> <span>{advice.text} <a href={behind(advice.table, advice.match)}>its rows</a></span>
        </p>
      ))}
      <Rows table={table.name} columns={table.columns} rows={table.rows} label={table.title} />
      <div class="charts">
        {table.charts.filter((chart) => chart.x.length > 1).map((chart) => (
          <figure key={chart.figure}>
            <figcaption class="faint">{chart.label}, by week</figcaption>
            <Lines label={`${chart.label} by week, ${plural(chart.x.length, "week")}`} x={chart.x} lines={chart.lines} name={weekOf} text={(value) => shown(value, { name: "", label: "", unit: chart.unit })} />
          </figure>
        ))}
      </div>
    </section>
  );
}

const WEEK = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

function weekOf(seconds: number): string {
  return WEEK.format(new Date(seconds * 1000));
}

/** Where the rows behind a figure are. */
function behind(table: string, match: Record<string, string>): string {
  const options = new URLSearchParams(route.value.options);
  options.set("match", JSON.stringify(match));
  return `${href("insights", table)}?${options}`;
}

function Figure({ value, column }: { value: Cell; column: InsightColumn }) {
  if (column.name === "at" && typeof value === "string") return <Time at={value} as="second" />;
  const address = addressOf(value, column);
  return address ? <a href={address}>{shown(value, column)}</a> : <>{shown(value, column)}</>;
}

/** A name, a date: what would be hard to read in two lines. */
function isShort(value: Cell): boolean {
  return String(value ?? "").length <= 24;
}

interface RowsProps {
  /** The table whose facts are behind each row; none for facts themselves. */
  table: string | null;
  columns: InsightColumn[];
  rows: Cell[][];
  label: string;
}

function Rows({ table, columns, rows, label }: RowsProps) {
  const filled = columns.map((_, index) => rows.some((row) => row[index] !== null && row[index] !== ""));
  const matchOf = (row: Cell[]) =>
    Object.fromEntries(columns.flatMap((column, index) => (column.unit === "text" && row[index] !== null ? [[column.name, String(row[index])]] : [])));
  return (
    <div class="scrolls" role="region" aria-label={`${label}: table`} tabIndex={0}>
      <table class="figures-of">
        <thead>
          <tr>
            {columns.map((column, index) => filled[index] && <th key={column.name} scope="col" class={column.unit === "text" ? "" : "number"}>{column.label}</th>)}
            {table && <th scope="col"><span class="unseen">rows</span></th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, number) => (
            <tr key={number}>
              {row.map((value, index) => {
                const column = columns[index];
                if (!column || !filled[index]) return null;
                return <td key={column.name} class={column.unit !== "text" ? "number" : isShort(value) ? "short" : ""}><Figure value={value} column={column} /></td>;
              })}
              {table && <td><a href={behind(table, matchOf(row))} aria-label={`Rows behind row ${number + 1} of ${label}`}>rows</a></td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function FactsPanel({ table }: { table: InsightTable }) {
  const { options } = route.value;
  const wanted = selection();
  const match = options.get("match");
  if (match) wanted.set("match", match);
  const { data, error } = useAnswer<InsightFacts>(`/api/insights/${encodeURIComponent(table.name)}/facts?${wanted}`, () => false);
  const kept = new URLSearchParams(options);
  kept.delete("match");
  const back = href("insights") + (kept.size ? `?${kept}` : "");
  return (
    <Panel label={`Rows of ${table.title}`} title={<>{table.title}: rows</>} back={back}>
      {match && <p class="faint">{Object.entries(JSON.parse(match) as Record<string, string>).map(([name, value]) => `${name} ${value}`).join(", ")}</p>}
      {error && <Problem of={error} />}
      {!data && !error && <Loading />}
      {data && <p class="faint">{plural(data.total, "row")}{data.total > data.rows.length && `, the newest ${data.rows.length} are shown`}</p>}
      {data && <Rows table={null} columns={data.columns} rows={data.rows} label={`Rows of ${table.title}`} />}
      <Value of={table.sql} label="The statement that yields the table" />
    </Panel>
  );
}

// The timeline of a session in its three scales: a line for each iteration, for each turn and hook
// in it, or for each event.
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { get } from "../api";
import type { EventRow, EventsPage, IterationPage, IterationRow, SessionPage } from "../api/schema";
import { href } from "../router";
import { useRows } from "../rows";
import { count, money, plural, secondsBetween, took } from "../time";
import { Empty, Problem, Time } from "../ui/basics";
import { List } from "../ui/list";
import { StatusIcon, toneOf as statusTone } from "../ui/status";
import { hookName } from "../ui/text";
import { type Line, linesOf } from "./steps";

/** How an iteration is to be seen: by its end, its decision, or that it goes on. */
export function toneOf(row: IterationRow): string {
  if (!row.ended) return "running";
  if (row.error || row.status === "failed" || row.status === "error") return "failed";
  if (row.decision === "complete") return row.checked ? "completed" : "unproven";
  if (row.decision === "escalate") return "escalated";
  if (row.passed < row.rules) return "escalated";
  return row.checked ? "passed" : "told";
}

function useNewestFirst(page: SessionPage): IterationRow[] {
  return useMemo(() => [...page.iterations].reverse(), [page.iterations]);
}

// What one looks for after a night: what failed, what a check objected to, what nothing has proven.
const PROBLEMS: readonly string[] = ["failed", "escalated", "unproven"];

interface TimelineProps {
  page: SessionPage;
  chosen: number | null;
  isProblems: boolean;
}

export function Iterations({ page, chosen, isProblems }: TimelineProps) {
  const all = useNewestFirst(page);
  const rows = isProblems ? all.filter((row) => PROBLEMS.includes(toneOf(row))) : all;
  if (isProblems && !rows.length) return <Empty title="No iteration has a problem">All of them are listed under “All”.</Empty>;
  if (!rows.length) return <Empty title="No iteration yet">The agent’s first turn has not begun.</Empty>;
  return (
    <List
      label="Iterations, the newest first"
      rows={rows}
      keyOf={(row) => String(row.chapter)}
      addressOf={(row) => href("sessions", page.known.runId, row.chapter) + (isProblems ? "?only=problems" : "")}
      chosen={chosen === null ? null : String(chosen)}
      height={52}
    >
      {(row) => <IterationLine row={row} />}
    </List>
  );
}

export function IterationLine({ row }: { row: IterationRow }) {
  const figures = [
    row.files > 0 && plural(row.files, "file"),
    row.tools > 0 && plural(row.tools, "tool"),
    row.rules > 0 && `${row.passed}/${row.rules} checks`,
    row.tokens > 0 && `${count(row.tokens)} tok`,
    row.usd > 0 && money(row.usd),
  ].filter(Boolean);
  return (
    <>
      <StatusIcon is={toneOf(row)} says />
      <span class="two">
        <span class="over">
          <b>{row.iteration === null ? "between iterations" : `Iteration ${row.iteration}`}</b>
          <span class="fill">
            {row.decision && <span class="tag">{row.decision}</span>} {row.error ?? row.reason ?? (row.ended ? "" : "under way")}
          </span>
        </span>
        <span class="under fill">
          {figures.join(" · ") || (row.ended ? "nothing changed" : "")}
          {row.hook && ` · decided by ${hookName(row.hook)}`}
        </span>
      </span>
      <span class="col figures">{row.seconds === null ? "" : took(row.seconds)}</span>
      <span class="col figures time-col">
        <Time at={row.began} />
      </span>
    </>
  );
}

type TurnRow = { key: string; iteration: IterationRow; line: Line | null };

/** What is known of the iterations in full, by chapter; read when one of them comes into sight. */
class Chapters {
  readonly known: Signal<ReadonlyMap<number, IterationPage>> = signal(new Map());
  private readonly asked = new Set<number>();

  constructor(private readonly run: string) {}

  want(chapter: number): void {
    if (this.asked.has(chapter)) return;
    this.asked.add(chapter);
    void get<IterationPage>(`/api/sessions/${encodeURIComponent(this.run)}/iterations/${chapter}`)
      .then((page) => {
        this.known.value = new Map(this.known.value).set(chapter, page);
      })
      .catch(() => this.asked.delete(chapter));
  }

  again(chapter: number): void {
    this.asked.delete(chapter);
    this.want(chapter);
  }
}

export function Turns({ page, chosen, step, isProblems }: TimelineProps & { step: string | null }) {
  const { runId } = page.known;
  const chapters = useMemo(() => new Chapters(runId), [runId]);
  const newest = useNewestFirst(page);
  const last = newest[0];
  useEffect(() => {
    if (last) chapters.again(last.chapter);
  }, [page.seq]);
  const known = chapters.known.value;
  const rows = useMemo(
    () =>
      newest.flatMap((iteration): TurnRow[] => {
        const found = known.get(iteration.chapter);
        const lines = (found ? linesOf(found) : []).filter((line) => !isProblems || statusTone(line.status) === "bad");
        const head = { key: `${iteration.chapter}`, iteration, line: null };
        return [head, ...lines.map((line) => ({ key: `${iteration.chapter}/${line.step}`, iteration, line }))];
      }),
    [newest, known, isProblems],
  );
  if (!rows.length) return <Empty title="No turn yet">The agent’s first turn has not begun.</Empty>;
  return (
    <List
      label="Turns and hooks, the newest iteration first"
      rows={rows}
      keyOf={(row) => row.key}
      addressOf={(row) => `${href("sessions", runId, row.iteration.chapter)}?scale=turns${isProblems ? "&only=problems" : ""}${row.line ? `&step=${row.line.step}` : ""}`}
      chosen={chosen === null ? null : step ? `${chosen}/${step}` : String(chosen)}
      height={34}
      classOf={(row) => (row.line ? "inner" : "group")}
    >
      {(row) => {
        if (!row.line) chapters.want(row.iteration.chapter);
        return row.line ? <TurnLine line={row.line} iteration={row.iteration} /> : <GroupLine row={row.iteration} />;
      }}
    </List>
  );
}

function GroupLine({ row }: { row: IterationRow }) {
  return (
    <>
      <StatusIcon is={toneOf(row)} says />
      <b>{row.iteration === null ? "between iterations" : `Iteration ${row.iteration}`}</b>
      <span class="fill faint">{row.reason ?? ""}</span>
      <span class="figures">{row.seconds === null ? "" : took(row.seconds)}</span>
    </>
  );
}

/** When a step began in its iteration, and how long it took: in percent of the iteration. */
function spanOf(line: Line, iteration: IterationRow): { left: string; width: string } | null {
  if (!iteration.began || !iteration.seconds || line.seconds === null) return null;
  const left = (100 * Math.max(0, secondsBetween(iteration.began, line.at))) / iteration.seconds;
  const width = Math.min(100 - left, (100 * line.seconds) / iteration.seconds);
  return left > 100 ? null : { left: `${left}%`, width: `${Math.max(0, width)}%` };
}

function TurnLine({ line, iteration }: { line: Line; iteration: IterationRow }) {
  const span = spanOf(line, iteration);
  return (
    <>
      <StatusIcon is={line.status} says />
      <span class="kind">{line.kind}</span>
      <span class="name">{line.name}</span>
      <span class="fill faint">{line.text}</span>
      <span class="span-of wide-only" aria-hidden="true">{span && <span style={span} />}</span>
      <span class="figures">{line.seconds === null ? "" : took(line.seconds)}</span>
      <span class="figures time-col">
        <Time at={line.at} as="second" />
      </span>
    </>
  );
}

const PART = 200;

interface EventsProps {
  run: string;
  addressOf: (row: EventRow) => string;
  chosen: string | null;
}

/** The log of a run, the newest event first; older parts are read as one scrolls. */
export function Everything({ run, chosen, addressOf }: EventsProps) {
  const address = `/api/events?node=${encodeURIComponent(run)}&limit=${PART}`;
  const { rows, error, more } = useRows<EventRow>(
    {
      part: (before) => address + (before ? `&before=${before}` : ""),
      rows: (answer: EventsPage) => answer.events,
      next: (answer: EventsPage) => (answer.next === null ? null : String(answer.next)),
      keyOf: (row) => String(row.seq),
      touched: (line) => (line.node === run || line.run === run ? String(line.seq) : null),
      some: (seqs) => `${address}&after=${Math.min(...seqs.map(Number)) - 1}&before=${Math.max(...seqs.map(Number)) + 1}`,
      order: (one, other) => other.seq - one.seq,
    },
    [run],
  );
  return (
    <>
      {error && <Problem of={error} />}
      <List label="Events, the newest first" rows={rows} keyOf={(row) => String(row.seq)} addressOf={addressOf} chosen={chosen} height={34} more={more}>
      {(row) => (
        <>
          <span class="figures seq">{row.seq}</span>
          <span class="name">{row.type}</span>
          <span class="fill faint">{row.text}</span>
          <span class="faint wide-only">{row.by}</span>
          <span class="figures time-col">
            <Time at={row.at} as="second" />
          </span>
        </>
      )}
      </List>
    </>
  );
}


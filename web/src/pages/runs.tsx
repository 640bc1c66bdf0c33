// Runs of flows: what each waits for, its journal of effects, its questions.
import type { Breakpoint, EffectRow, RunPage, RunRow, RunsPage } from "../api/schema";
import { useAnswer } from "../query";
import { go, href, route, withOption } from "../router";
import { useRows } from "../rows";
import { plural, secondsBetween, took } from "../time";
import { Choice, Empty, Facts, Loading, Problem, Time } from "../ui/basics";
import { List } from "../ui/list";
import { Page } from "../ui/page";
import { Panel } from "../ui/panel";
import { Status, StatusIcon } from "../ui/status";
import { Value } from "../ui/text";
import { Ways } from "../ui/ways";
import { EventPanel } from "./event";
import { concerns } from "./session";
import { Everything } from "./timeline";

const WHICH = [["", "All"], ["running", "Running"], ["parked", "Parked"], ["failed", "Failed"], ["completed", "Completed"]] as const;

function numberOf(run: string): number {
  return Number(run.replace(/^\D+/, ""));
}

export function Runs() {
  const status = route.value.options.get("status") ?? "";
  const filter = status ? `&status=${encodeURIComponent(status)}` : "";
  const { rows, error, isLoading, more } = useRows<RunRow>(
    {
      part: (before) => `/api/runs?limit=200${filter}${before ? `&before=${encodeURIComponent(before)}` : ""}`,
      rows: (answer: RunsPage) => answer.runs,
      next: (answer: RunsPage) => answer.next,
      keyOf: (row) => row.runId,
      touched: (line) => line.run ?? (/^R-\d+$/.test(line.node) ? line.node : null),
      some: (runs) => `/api/runs?runs=${runs.map(encodeURIComponent).join(",")}${filter}`,
      order: (one, other) => numberOf(other.runId) - numberOf(one.runId),
    },
    [status],
  );
  return (
    <Page title="Runs" tools={<Choice label="Which runs" options={WHICH} chosen={status as ""} choose={(value) => go(withOption("status", value || null))} />}>
      {error && <Problem of={error} />}
      {isLoading && <Loading />}
      {!isLoading && !error && rows.length === 0 && (
        <Empty title="No run here" command="hookline flow start FLOW">
          A run is one execution of a flow: a session, a submission, a merge, or a flow of your own. It continues after a
          crash, since the result of each of its effects is recorded once.
        </Empty>
      )}
      {rows.length > 0 && (
        <List label="Runs" rows={rows} keyOf={(row) => row.runId} addressOf={(row) => href("runs", row.runId)} height={52} more={more}>
          {(row) => (
            <>
              <span class="col status-col">
                <Status is={row.status} />
              </span>
              <span class="two">
                <span class="over">
                  <b>{row.runId}</b> <span class="fill">{row.flow}{row.taskId && ` · ${row.taskId}`}{row.session && ` · ${row.session}`}</span>
                </span>
                <span class="under fill">{row.error ?? row.reason ?? ""}</span>
              </span>
              {row.asks > 0 && <span class="tag warn">{plural(row.asks, "question")}</span>}
              <span class="col figures time-col">
                <Time at={row.createdAt} />
              </span>
            </>
          )}
        </List>
      )}
    </Page>
  );
}

export function Run({ parts }: { parts: string[] }) {
  const run = parts[1] ?? "";
  const { options } = route.value;
  const wanted = options.get("chapter");
  const path = `/api/runs/${encodeURIComponent(run)}${wanted ? `?chapter=${wanted}` : ""}`;
  const { data, error } = useAnswer<RunPage>(path, concerns(run));
  const effect = parts[2] ?? null;
  const seq = options.get("event");
  const view = options.get("view") === "events" ? "events" : "journal";
  if (!data) return <Page title={run}>{error ? <Problem of={error} /> : <Loading />}</Page>;
  const query = options.toString();
  const chosen = data.effects.find((each) => each.effectId === effect);
  const back = href("runs", run) + (view === "events" ? "?view=events" : query ? `?${query}` : "");
  const beside = chosen ? <EffectPanel effect={chosen} back={back} /> : seq ? <EventPanel seq={Number(seq)} back={href("runs", run) + "?view=events"} /> : null;
  return (
    <Page title={`${run} ${data.run.flow}`} under={<Head page={data} />} beside={beside}>
      <div class="bar">
        <Choice label="What of the run" options={[["journal", "Journal"], ["events", "Events"]] as const} chosen={view} choose={(value) => go(href("runs", run) + (value === "events" ? "?view=events" : ""))} />
        {view === "journal" && data.chapters > 1 && (
          <label class="inline">
            Chapter
            <select value={String(data.chapter)} onChange={(event) => go(`${href("runs", run)}?chapter=${event.currentTarget.value}`)}>
              {Array.from({ length: data.chapters }, (_, index) => (
                <option key={index} value={String(index + 1)}>{`${index + 1} of ${data.chapters}`}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      {view === "events" && <Everything run={run} addressOf={(row) => `${href("runs", run)}?view=events&event=${row.seq}`} chosen={seq} />}
      {view === "journal" && (
        <List label="Effects" rows={data.effects} keyOf={(row) => row.effectId} addressOf={(row) => href("runs", run, row.effectId) + (query ? `?${query}` : "")} chosen={effect} height={40}>
          {(row) => <Effect row={row} />}
        </List>
      )}
    </Page>
  );
}

function Head({ page: { run, questions, caller, called, ways, input, value } }: { page: RunPage }) {
  return (
    <section class="head" aria-label="What is known of this run">
      <p class="goal"><Status is={run.status} /> {run.error ?? run.reason ?? ""}</p>
      {questions.map((question) => (
        <Asked key={question.effectId} run={run.runId} question={question} />
      ))}
      <Facts
        rows={[
          ["task", run.taskId && <a href={href("tasks", run.taskId)}>{run.taskId}</a>],
          ["session", run.session && <a href={href("sessions", run.runId)}>{run.session}</a>],
          ["started", <Time at={run.createdAt} />],
          ["changed", <Time at={run.updatedAt} />],
          ["due", run.wakeAt && <Time at={run.wakeAt} />],
          ["held by", run.holder],
          ["called by", caller && <a href={href("runs", caller)}>{caller}</a>],
          ["calls", called.length > 0 && called.map((each) => <a key={each} class="task-link" href={href("runs", each)}>{each}</a>)],
        ]}
      />
      <Ways ways={ways.filter((way) => way.verb !== "answer")} isAsking={questions.length > 0} />
      <details class="held"><summary>Input and value</summary><Value of={input} label="Input" /><Value of={value} label="Value" /></details>
    </section>
  );
}

function Asked({ run, question }: { run: string; question: Breakpoint }) {
  const way = { verb: "answer", label: "Answer", path: `/api/runs/${encodeURIComponent(run)}/answer` };
  return (
    <div class="asked">
      <p class="question">{question.question}</p>
      <p class="faint">asked <Time at={question.since} as="full" /></p>
      <Ways ways={[way]} question={{ text: question.question, seq: question.seq, point: null, hook: null, head: null, effectId: question.effectId }} />
    </div>
  );
}

function durationOf(row: EffectRow): string {
  return row.resolvedAt ? took(Math.max(0, secondsBetween(row.requestedAt, row.resolvedAt))) : "";
}

function Effect({ row }: { row: EffectRow }) {
  return (
    <>
      <StatusIcon is={row.status} says />
      <span class="kind">{row.kind}</span>
      <span class="name">{row.step}</span>
      <span class="fill faint">{row.error ?? row.text}</span>
      <span class="figures">{durationOf(row)}</span>
      <span class="figures time-col"><Time at={row.requestedAt} as="second" /></span>
    </>
  );
}

function EffectPanel({ effect, back }: { effect: EffectRow; back: string }) {
  return (
    <Panel label={`Effect ${effect.step}`} title={<>{effect.step} <Status is={effect.status} /></>} back={back}>
      {effect.error && <p class="bad">{effect.error}</p>}
      <Facts
        rows={[
          ["kind", effect.kind],
          ["effect", <code>{effect.effectId}</code>],
          ["asked for", <><Time at={effect.requestedAt} as="full" /> · <a href={href("events", effect.seq)}>event {effect.seq}</a></>],
          ["result", effect.resolvedAt && <><Time at={effect.resolvedAt} as="full" />{effect.endSeq !== null && <> · <a href={href("events", effect.endSeq)}>event {effect.endSeq}</a></>}</>],
          ["took", durationOf(effect)],
          ["attempts", effect.attempts > 1 ? String(effect.attempts) : null],
          ["called run", effect.calledRun && <a href={href("runs", effect.calledRun)}>{effect.calledRun}</a>],
        ]}
      />
      <Value of={effect.args} label="Asked for" />
      <Value of={effect.value} label="Result" />
    </Panel>
  );
}

// One session: its limits, its timeline in three scales, and what is open of it.
import type { SessionPage, UsedLimit } from "../api/schema";
import { bind } from "../keys";
import { useAnswer } from "../query";
import { go, href, route, withOption } from "../router";
import { count, money } from "../time";
import { useLayoutEffect } from "preact/hooks";
import { Choice, Command, Facts, Loading, Meter, Problem, Time } from "../ui/basics";
import { Icon } from "../ui/icon";
import { Page } from "../ui/page";
import { Status, provenStatus } from "../ui/status";
import { Exact } from "../ui/text";
import { Ways } from "../ui/ways";
import { EventPanel } from "./event";
import { Chart } from "./session_chart";
import { IterationPanel } from "./iteration";
import { Live } from "./session_live";
import { Everything, Iterations, Turns } from "./timeline";

const SCALES = [["iterations", "Iterations"], ["turns", "Turns and hooks"], ["all", "Everything"]] as const;
export type Scale = (typeof SCALES)[number][0];

/** Whether an event is about a session: it names its run, or its task. */
export function concerns(run: string, task?: string | null) {
  return (line: { node: string; run: string | null; task: string | null }) =>
    line.node === run || line.run === run || (Boolean(task) && (line.task === task || line.node === task));
}

export function Session({ parts }: { parts: string[] }) {
  const run = parts[1] ?? "";
  const { data, error } = useAnswer<SessionPage>(`/api/sessions/${encodeURIComponent(run)}`, concerns(run));
  const chapter = parts[2] === undefined ? null : Number(parts[2]);
  const seq = route.value.options.get("event");
  const asked = route.value.options.get("scale");
  const scale: Scale = asked === "turns" || asked === "all" ? asked : "iterations";
  useNeighbours(data);
  if (error && !data) return <Page title={run}><Problem of={error} /></Page>;
  if (!data) return <Page title={run}><Loading /></Page>;
  const back = href("sessions", run) + (scale === "iterations" ? "" : `?scale=${scale}`);
  const step = route.value.options.get("step");
  const beside = seq ? (
    <EventPanel seq={Number(seq)} back={back} />
  ) : chapter !== null ? (
    <IterationPanel key={chapter} run={run} chapter={chapter} step={step} back={back} rows={data.iterations} />
  ) : null;
  return (
    <Page title={data.known.name} under={<Head page={data} />} beside={beside} tools={<Neighbours page={data} />}>
      <div class="bar">
        <Choice label="Scale of the timeline" options={SCALES} chosen={scale} choose={(value) => go(withOption("scale", value === "iterations" ? null : value))} />
        <Chart run={run} rows={data.iterations} />
      </div>
      {data.known.status === "running" && <Live run={run} />}
      {scale === "iterations" && <Iterations page={data} chosen={chapter} />}
      {scale === "turns" && <Turns page={data} chosen={chapter} step={step} />}
      {scale === "all" && <Everything run={run} chosen={seq} addressOf={(row) => `${href("sessions", run)}?scale=all&event=${row.seq}`} />}
    </Page>
  );
}

function useNeighbours(page: SessionPage | null): void {
  const [before, after] = [page?.previous ?? null, page?.next ?? null];
  useLayoutEffect(() => {
    const unbind = [
      bind("[", () => before && go(href("sessions", before))),
      bind("]", () => after && go(href("sessions", after))),
    ];
    return () => unbind.forEach((each) => each());
  }, [before, after]);
}

function Neighbours({ page }: { page: SessionPage }) {
  return (
    <nav class="neighbours" aria-label="Other sessions">
      <Neighbour run={page.previous} label="Previous session" icon="left" />
      <Neighbour run={page.next} label="Next session" icon="right" />
    </nav>
  );
}

function Neighbour({ run, label, icon }: { run: string | null; label: string; icon: "left" | "right" }) {
  if (!run) return <span class="button quiet off" aria-hidden="true"><Icon name={icon} /></span>;
  return (
    <a class="button quiet" href={href("sessions", run)} aria-label={`${label}, ${run}`} title={`${label} (${icon === "left" ? "[" : "]"})`}>
      <Icon name={icon} />
    </a>
  );
}

function Head({ page }: { page: SessionPage }) {
  const { known, limits, ways } = page;
  return (
    <section class="head" aria-label="What is known of this session">
      <p class="goal">
        <Status is={provenStatus(known.status, page.unproven)} /> {known.goal}
      </p>
      {known.reason && <p class={known.status === "failed" || known.status === "escalated" ? "warn" : "faint"}>{known.reason}</p>}
      {page.unproven && <p class="warn">Not proven: {page.unproven}.</p>}
      {known.problem && (
        <p class="problem">
          {known.problem.message}. {known.problem.help}. <Command text={known.problem.command} />
        </p>
      )}
      {page.pruned && <p class="faint">Its details were pruned on <Time at={page.pruned} as="full" />.</p>}
      <Facts
        rows={[
          ["task", <a href={href("tasks", known.taskId)}>{known.taskId}</a>],
          ["run", <a href={href("runs", known.runId)}>{known.runId}</a>],
          ["agent", known.agent],
          ["started", <Time at={known.createdAt} />],
          ["until", known.until && <Time at={known.until} />],
          ["branch", known.branch && <code>{known.branch}</code>],
          ["spent", page.usd ? money(page.usd) : null],
          ["tokens", page.tokens ? count(page.tokens) : null],
        ]}
      />
      {limits.length > 0 && (
        <div class="meters" role="group" aria-label="Limits used">
          {limits.map((limit) => (
            <Meter key={limit.name} name={NAMES[limit.name] ?? limit.name.replaceAll("_", " ")} used={limit.used} allowed={limit.allowed} text={usage(limit)} />
          ))}
        </div>
      )}
      <Ways ways={ways} taskId={known.taskId} limits={raised(page)} />
      <Waits page={page} />
    </section>
  );
}

/** Of a session that used a limit up: twice as much of it, as the command line suggests. */
function raised({ known, limits }: SessionPage): Record<string, number> {
  const used = limits.find((limit) => limit.name === known.limit);
  return used && /^(iterations|minutes|usd|tokens)$/.test(used.name) ? { [used.name]: used.allowed * 2 } : {};
}

const NAMES: Record<string, string> = { usd: "money", no_change: "without a change" };

function usage({ name, used, allowed }: UsedLimit): string {
  const show = (value: number) => (name === "usd" ? money(value) : name === "minutes" ? `${Math.round(value)}m` : count(Math.round(value)));
  return `${show(used)} / ${show(allowed)}`;
}

/** What the agent has not been told yet. */
function Waits({ page }: { page: SessionPage }) {
  if (!page.held.length && !page.messages.length && !page.wants) return null;
  return (
    <details class="held">
      <summary>
        <Icon name="message" /> For the agent’s next prompt: {page.messages.length + page.held.length}
        {page.wants && `, and it is asked to ${page.wants}`}
      </summary>
      {page.messages.map((text, index) => (
        <Exact key={index} label="A person says" of={{ text, bytes: new Blob([text]).size, cut: false, path: null }} />
      ))}
      {page.held.map((held) => (
        <Exact key={held.eventSeq} label={`${held.hook} at ${held.point}`} of={{ text: held.text, bytes: held.bytes, cut: false, path: null }} />
      ))}
    </details>
  );
}

// One session: its limits, its timeline in three scales, and what is open of it.
import type { SessionPage } from "../api/schema";
import { bind } from "../keys";
import { useAnswer } from "../query";
import { go, href, route, withOption } from "../router";
import { useLayoutEffect } from "preact/hooks";
import { Choice, Loading, Problem } from "../ui/basics";
import { Icon } from "../ui/icon";
import { Page } from "../ui/page";
import { EventPanel } from "./event";
import { Chart } from "./session_chart";
import { Head } from "./session_head";
import { IterationPanel } from "./iteration";
import { Live } from "./session_live";
import { Everything, Iterations, Turns } from "./timeline";

const SCALES = [["iterations", "Iterations"], ["turns", "Turns and hooks"], ["all", "Everything"]] as const;
export type Scale = (typeof SCALES)[number][0];
const WHICH = [["", "All"], ["problems", "Problems"]] as const;

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
  const isProblems = scale !== "all" && route.value.options.get("only") === "problems";
  const kept = [scale !== "iterations" && `scale=${scale}`, isProblems && "only=problems"].filter(Boolean).join("&");
  const back = href("sessions", run) + (kept && `?${kept}`);
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
        {scale !== "all" && <Choice label="Which of them" options={WHICH} chosen={isProblems ? "problems" : ""} choose={(value) => go(withOption("only", value || null))} />}
        <Chart run={run} rows={data.iterations} />
      </div>
      {data.known.status === "running" && <Live run={run} />}
      {scale === "iterations" && <Iterations page={data} chosen={chapter} isProblems={isProblems} />}
      {scale === "turns" && <Turns page={data} chosen={chapter} step={step} isProblems={isProblems} />}
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

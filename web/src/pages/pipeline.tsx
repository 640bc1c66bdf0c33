// From done to merged: who works, what each gate said as a row of lights, and what merges next.
import type { GateLight, PipelinePage, QueuedMerge, SessionFacts, WorkRow, WorkerRow } from "../api/schema";
import { useAnswer } from "../query";
import { href } from "../router";
import { plural, took } from "../time";
import { Command, Empty, Loading, Problem, Time } from "../ui/basics";
import { List } from "../ui/list";
import { Page } from "../ui/page";
import { Status, StatusIcon } from "../ui/status";
import { TaskPanel } from "./task";

export function Pipeline({ parts }: { parts: string[] }) {
  const { data, error } = useAnswer<PipelinePage>("/api/pipeline");
  const chosen = parts[1] ?? null;
  return (
    <Page title="Pipeline" beside={chosen ? <TaskPanel key={chosen} id={chosen} back={href("pipeline")} /> : null} under={data && <Lanes workers={data.workers} lanes={data.lanes} queue={data.queue} />}>
      {error && <Problem of={error} />}
      {!data && !error && <Loading />}
      {data && <h2 class="over-list">Work on its way</h2>}
      {data && data.work.length === 0 && (
        <Empty title="Nothing is at its gates" command="hookline work --agents 2">
          What agents call done is submitted: it passes its gates one by one, waits in the queue, and is merged. A worker
          does that for every ready task:
        </Empty>
      )}
      {data && data.work.length > 0 && (
        <List label="Work on its way" rows={data.work} keyOf={(row) => row.taskId} addressOf={(row) => href("pipeline", row.taskId)} chosen={chosen} height={64}>
          {(row) => <Work row={row} />}
        </List>
      )}
    </Page>
  );
}

function Lanes({ workers, lanes, queue }: { workers: WorkerRow[]; lanes: SessionFacts[]; queue: QueuedMerge[] }) {
  return (
    <div class="cards">
      <section class="card" aria-label="Lanes">
        <h2>Lanes</h2>
        {workers.map((worker) => (
          <p key={worker.pid} class="line-of">
            <Status is="running" label="worker" /> <span class="faint">process {worker.pid}, since <Time at={worker.since} /></span>
          </p>
        ))}
        {workers.length === 0 && <p class="faint">No worker. <Command text="hookline work --agents 2" /></p>}
        {lanes.map((lane) => (
          <p key={lane.runId} class="line-of">
            <StatusIcon is={lane.status} says /> <a href={href("sessions", lane.runId)}>{lane.name}</a>
            <span class="fill faint">{lane.goal}</span>
            <span class="figures">{plural(lane.iteration, "iteration")}</span>
          </p>
        ))}
      </section>
      <section class="card" aria-label="Merge queue">
        <h2>Merge queue</h2>
        {queue.length === 0 && <p class="faint">Empty. One merge at a time, in the order in which work passed its gates.</p>}
        <ol class="queue">
          {queue.map((merge) => (
            <li key={merge.runId}>
              <span class="figures">{merge.place}</span> <a href={href("tasks", merge.taskId)}>{merge.taskId}</a>
              <span class="fill faint">{merge.goal}</span>
            </li>
          ))}
        </ol>
      </section>
    </div>
  );
}

function Work({ row }: { row: WorkRow }) {
  return (
    <>
      <span class="col status-col">
        <Status is={row.state} />
      </span>
      <span class="two">
        <span class="over">
          <b>{row.taskId}</b> <span class="fill">{row.goal}</span>
        </span>
        <span class="under fill">{row.reason ?? row.outcome ?? row.flow ?? ""}</span>
      </span>
      <Lights of={row.lights} />
      <span class="col figures time-col">
        <Time at={row.since} />
      </span>
    </>
  );
}

function Lights({ of }: { of: GateLight[] }) {
  return (
    <span class="lights">
      <span class="unseen">gates: {of.map((light) => `${light.gate} ${light.light}`).join(", ")}</span>
      {of.map((light) => (
        <span key={`${light.point} ${light.gate}`} class="light" aria-hidden="true" title={`${light.gate} at ${light.point}: ${light.light}${light.ms !== null ? `, ${took(light.ms / 1000)}` : ""}${light.message ? `\n${light.message}` : ""}`}>
          <StatusIcon is={light.light} />
          <span class="name">{light.gate}</span>
        </span>
      ))}
    </span>
  );
}

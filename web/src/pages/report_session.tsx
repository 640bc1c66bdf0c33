// The report of a session: what is known of it, a line and all the steps of each iteration, its proof.
import type { OverriddenGate, SessionStory, Task, ToldWhole } from "../api/schema";
import { href } from "../router";
import { plural } from "../time";
import { Time } from "../ui/basics";
import { DiffView } from "../ui/diff";
import { Receipt } from "../ui/receipt";
import { Status } from "../ui/status";
import { Exact } from "../ui/text";
import { StepView, Summary } from "./iteration";
import { Chart } from "./session_chart";
import { Head } from "./session_head";
import { Costs, Gate, Section } from "./task_parts";
import { IterationLine, toneOf } from "./timeline";

export function ReportedSessionStory({ of: told }: { of: SessionStory }) {
  const { page, story } = told;
  const run = page.known.runId;
  const rows = page.iterations;
  const last = story.length - 1;
  return (
    <>
      <h1 id={`/sessions/${run}`}>{page.known.name}</h1>
      <Head page={page} />
      {told.why && told.why !== page.known.reason && <p>{told.why}</p>}
      <p class="faint">{plural(told.iterations, "iteration")}</p>
      <Section isTop title="Overview">
        <Chart run={run} rows={rows} />
        {told.leftOut > 0 && <p class="faint">{plural(told.leftOut, "older iteration")} are not listed.</p>}
        <ul class="overview">
          {rows.map((row) => (
            <li key={row.chapter}>
              <a class="row" href={href("sessions", run, row.chapter)}>
                <IterationLine row={row} />
              </a>
            </li>
          ))}
        </ul>
      </Section>
      {told.proof && <Section isTop title="Proof"><Receipt of={told.proof} /></Section>}
      <Section isTop title="Iterations">
        {rows.length > story.length && <p class="faint">The newest {story.length} are told in full.</p>}
        {story.map((each, index) => (
          <Whole key={each.page.chapter} told={each} page={page} isOpen={index === last} />
        ))}
      </Section>
      {told.tasks.length > 1 && <Section isTop title="Tasks">{told.tasks.map((task) => <TaskLine key={task.id} task={task} />)}</Section>}
      {told.cost.turns > 0 && <Section isTop title={`What ${page.known.taskId} cost`}><Costs of={told.cost} /></Section>}
      {told.gates.length > 0 && <Section isTop title={`Gates of ${page.known.taskId}`}>{told.gates.map((gate) => <Gate key={gate.seq} gate={gate} />)}</Section>}
      {told.overridden.length > 0 && <Section isTop title="Overridden gates">{told.overridden.map((each, index) => <Overridden key={index} of={each} />)}</Section>}
      {told.notes.length > 0 && (
        <Section isTop title="Notes">
          {told.notes.map((note) => (
            <p key={note.id} class="said">
              <Time at={note.createdAt} as="full" /> <span class="tag">{note.kind}</span> {note.text}
            </p>
          ))}
        </Section>
      )}
    </>
  );
}

interface WholeProps {
  told: ToldWhole;
  page: SessionStory["page"];
  isOpen: boolean;
}

function Whole({ told: { page, change, since }, page: session, isOpen }: WholeProps) {
  const row = session.iterations.find((each) => each.chapter === page.chapter);
  return (
    <details class="card whole" open={isOpen} id={`/sessions/${page.runId}/${page.chapter}`}>
      <summary>
        <b>{page.iteration === null ? "Between iterations" : `Iteration ${page.iteration}`}</b>{" "}
        {row && <Status is={toneOf(row)} label={row.decision ?? row.status ?? "not over"} />}
      </summary>
      {row && <Summary row={row} page={page} />}
      <ol class="steps">
        {page.steps.map((step, index) => (
          <li key={index}>
            <StepView step={step} isOpen={false} />
          </li>
        ))}
      </ol>
      {change && (
        <section aria-label="What it changed">
          <h3>What it changed{since && <span class="faint"> ({since})</span>}</h3>
          <DiffView of={change} />
        </section>
      )}
    </details>
  );
}

function TaskLine({ task }: { task: Task }) {
  const result = task.result ?? task.blockReason;
  return (
    <p class="line-of">
      <Status is={task.state} /> <b>{task.id}</b>
      <span class="fill">
        {task.goal}
        {result && <span class="faint"> · {result}</span>}
      </span>
    </p>
  );
}

function Overridden({ of: { at, point, gate, by, reason } }: { of: OverriddenGate }) {
  return (
    <div>
      <p>
        <Status is="overridden" /> <b>{gate}</b> <span class="faint">{point} · {by} · <Time at={at} as="full" /></span>
      </p>
      <Exact of={{ text: reason, bytes: new Blob([reason]).size, cut: false, path: null }} label="Why" />
    </div>
  );
}

// The report of a project, or of one of its tasks: what waits, what was done, what proves it, the diffs.
import type { Item, ProjectStory, ReportedSession, TaskStory } from "../api/schema";
import { href } from "../router";
import { money, plural, took } from "../time";
import { Command, Time } from "../ui/basics";
import { Counts, DiffView } from "../ui/diff";
import { Status, provenStatus } from "../ui/status";
import { Costs, LOUD, ProofLine, Section } from "./task_parts";

export function ReportedWork({ of: told, title }: { of: ProjectStory; title: string }) {
  return (
    <>
      <h1>{title}: what was done</h1>
      <p class="faint">since <Time at={told.since} as="full" />, until <Time at={told.until} as="full" /></p>
      <p class="headline">{told.headline}</p>
      {told.waiting.length > 0 && <Section isTop title="Waits for you">{told.waiting.map((item) => <Waits key={item.key} item={item} />)}</Section>}
      {told.tasks.length > 0 && (
        <Section isTop title="Tasks">
          <ul class="overview">{told.tasks.map((each) => <li key={each.task.taskId}><TaskRow of={each} /></li>)}</ul>
          {told.leftOut > 0 && <p class="faint">{plural(told.leftOut, "earlier task")} are not listed.</p>}
        </Section>
      )}
      {told.sessions.length > 0 && <Section isTop title="Sessions">{told.sessions.map((each) => <SessionLine key={each.runId} session={each} />)}</Section>}
      {told.tasks.length > 0 && <Section isTop title="What proves it, and what it changed">{told.tasks.map((each) => <TaskCard key={each.task.taskId} of={each} />)}</Section>}
      {told.cost.turns > 0 && <Section isTop title="What it cost"><Costs of={told.cost} /></Section>}
    </>
  );
}

function Waits({ item }: { item: Item }) {
  return (
    <div class="asked">
      <p>
        <b>{item.id}</b> {item.goal} <span class="faint">({item.kind.replaceAll("_", " ")}{item.since && <> since <Time at={item.since} as="full" /></>})</span>
      </p>
      <p class="said">{item.message}</p>
      <Command text={item.command} />
    </div>
  );
}

function TaskRow({ of: { task, change } }: { of: TaskStory }) {
  return (
    <a class="row" href={href("tasks", task.taskId)}>
      <span class="col outcome"><Status is={task.outcome} /></span>
      <span class="fill"><b>{task.taskId}</b> {task.goal}</span>
      {change && !change.unknown && <Counts added={change.added} removed={change.removed} />}
      <span class="col figures">{task.cost.turns > 0 && took(task.cost.seconds)}</span>
      <span class="col figures">{task.cost.usd !== null && money(task.cost.usd)}</span>
    </a>
  );
}

function SessionLine({ session }: { session: ReportedSession }) {
  return (
    <p class="line-of">
      <Status is={provenStatus(session.status, session.proven ? null : "unproven")} /> <b>{session.name}</b>
      <span class="fill faint">
        {session.runId} · <a href={href("tasks", session.taskId)}>{session.taskId}</a>
        {session.agent && ` · ${session.agent}`} · {plural(session.iterations, "iteration")}
        {session.why && ` · ${session.why}`}
      </span>
    </p>
  );
}

function TaskCard({ of: { task, change } }: { of: TaskStory }) {
  const { merged } = task;
  return (
    <article class="card whole" id={`/tasks/${task.taskId}`}>
      <h3>
        {task.taskId} {task.goal} <Status is={task.outcome} />
      </h3>
      {merged && (
        <p>
          merged <Time at={merged.at} as="full" /> into <code>{merged.base}</code> as <code title={merged.sha}>{merged.sha.slice(0, 12)}</code>
        </p>
      )}
      {task.why && <p class={LOUD.has(task.outcome) ? "warn" : ""}>{task.why}</p>}
      {task.proofs.map((proof, index) => <ProofLine key={index} of={proof} />)}
      {task.cost.turns > 0 && <Costs of={task.cost} label={`What ${task.taskId} cost`} />}
      {change && <DiffView of={change} />}
    </article>
  );
}

// A task's story, from idea to merge.
import { useEffect, useState } from "preact/hooks";
import { send } from "../api";
import type { DoneAnswer, SessionRow, Task, TaskLink, TaskPage } from "../api/schema";
import { bind } from "../keys";
import { useAnswer } from "../query";
import { go, href } from "../router";
import { act, post } from "../tell";
import { money, plural } from "../time";
import { Button, Facts, Loading, Problem, Time } from "../ui/basics";
import { Why } from "../ui/calls";
import { Diff } from "../ui/diff";
import { Panel } from "../ui/panel";
import { Status, StatusIcon, provenStatus } from "../ui/status";
import { Ways, mayDecide } from "../ui/ways";
import { TaskForm } from "./task_form";
import { Costs, Gate, LOUD, ProofLine, Section } from "./task_parts";

export function TaskPanel({ id, back }: { id: string; back: string }) {
  const path = `/api/tasks/${encodeURIComponent(id)}`;
  const { data, error } = useAnswer<TaskPage>(path, (line) => line.node === id || line.task === id);
  const [isEdited, setEdited] = useState(false);
  const mayChange = mayDecide();
  useEffect(() => (mayChange ? bind("e", () => setEdited(true)) : undefined), [mayChange]);
  return (
    <Panel
      label={`Task ${id}`}
      title={<>{id} {data && <Status is={LOUD.has(data.outcome) ? data.outcome : data.task.state} />}</>}
      back={back}
      actions={
        data && mayChange && (
          <Button kind="quiet" onClick={() => setEdited(!isEdited)} title="Key: e">
            {isEdited ? "Leave as it is" : "Edit"}
          </Button>
        )
      }
    >
      {error && !data && <Problem of={error} />}
      {!data && !error && <Loading />}
      {data && isEdited && <Edit task={data.task} done={() => setEdited(false)} />}
      {data && !isEdited && <Story page={data} mayChange={mayChange} />}
    </Panel>
  );
}

function Story({ page, mayChange }: { page: TaskPage; mayChange: boolean }) {
  const { task } = page;
  return (
    <>
      <p class="question">{task.goal}</p>
      {page.outcomeWhy && <p class={LOUD.has(page.outcome) ? "warn" : "faint"}>{page.outcomeWhy}</p>}
      <Ways ways={page.ways} taskId={task.id} />
      {mayChange && task.state === "ready" && !page.sessions.length && !page.ways.some((way) => way.verb === "start") && (
        <a class="button" href={`${href("sessions")}?start=1&task=${task.id}`}>
          Start a session on it
        </a>
      )}
      <Facts
        rows={[
          ["priority", `P${task.priority}`],
          ["type", task.type],
          ["labels", task.labels.join(", ")],
          ["depends on", links(page.dependsOn)],
          ["holds up", links(page.dependents)],
          ["part of", page.parent && links([page.parent])],
          ["parts", links(page.parts)],
          ["claimed by", task.claim?.agent],
          ["blocked", task.blockReason],
          ["created", <Time at={task.createdAt} as="full" />],
          ["completed", task.completedAt && <Time at={task.completedAt} as="full" />],
          ["result", task.result],
          ["pull request", task.prUrl],
        ]}
      />
      <Why of={page.why} />
      {page.sessions.length > 0 && <Section title="Sessions">{page.sessions.map((row) => <SessionLine key={row.known.runId} row={row} />)}</Section>}
      {page.proofs.length > 0 && (
        <Section title="Proof">
          {page.proofs.map((proof, index) => <ProofLine key={index} of={proof} />)}
        </Section>
      )}
      {page.gates.length > 0 && <Section title="Gates">{page.gates.map((gate) => <Gate key={gate.seq} gate={gate} />)}</Section>}
      {page.cost.turns > 0 && <Section title="What it cost"><Costs of={page.cost} /></Section>}
      {page.notes.length > 0 && <Section title="Notes">{page.notes.map((note, index) => <p key={index} class="said">{note}</p>)}</Section>}
      {page.diff && <Section title="What it changes"><Diff path={page.diff} of={`${task.state} ${page.cost.turns} ${page.gates.length}`} /></Section>}
      <Section title="From idea to merge">
        <ol class="story">
          {page.events.map((event) => (
            <li key={event.seq}>
              <Time at={event.at} as="second" />
              <a href={href("events", event.seq)}>{event.type.replaceAll("_", " ")}</a>
              <span class="faint">{event.text}{event.by && ` · ${event.by}`}</span>
            </li>
          ))}
        </ol>
      </Section>
    </>
  );
}

function links(tasks: TaskLink[]) {
  if (!tasks.length) return null;
  return tasks.map((link) => (
    <a key={link.id} class="task-link" href={href("tasks", link.id)} title={link.goal}>
      <StatusIcon is={link.state} says />
      {link.id}
    </a>
  ));
}

function SessionLine({ row: { known, usd, unproven } }: { row: SessionRow }) {
  return (
    <p class="line-of">
      <Status is={provenStatus(known.status, unproven)} /> <a href={href("sessions", known.runId)}>{known.name}</a>
      <span class="faint">
        {plural(known.iteration, "iteration")}
        {known.agent && ` · ${known.agent}`}
        {usd > 0 && ` · ${money(usd)}`}
      </span>
    </p>
  );
}

function Edit({ task, done }: { task: Task; done: () => void }) {
  const path = `/api/tasks/${encodeURIComponent(task.id)}`;
  return (
    <TaskForm
      label="Save"
      start={{ goal: task.goal, type: task.type ?? "", labels: task.labels.join(", "), priority: String(task.priority), dependsOn: task.dependsOn.join(" "), parent: task.parentTaskId ?? "" }}
      save={async (given) => {
        const wanted = given.dependsOn ?? [];
        const add = wanted.filter((id) => !task.dependsOn.includes(id));
        const remove = task.dependsOn.filter((id) => !wanted.includes(id));
        const changes: Record<string, unknown> = {};
        if (given.goal !== task.goal) changes.goal = given.goal;
        if (given.type !== task.type) changes.type = given.type;
        if (given.priority !== task.priority) changes.priority = given.priority;
        if (String(given.labels) !== String(task.labels)) changes.labels = given.labels;
        if (given.parent !== task.parentTaskId) changes.parentTaskId = given.parent;
        const worked = !Object.keys(changes).length || (await act(() => send<DoneAnswer>(path, { changes })));
        const linked = !(add.length || remove.length) || (await post(`${path}/dependencies`, { add, remove }));
        if (worked && linked) {
          done();
          go(href("tasks", task.id));
        }
      }}
    />
  );
}

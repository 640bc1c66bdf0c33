// A task's story, from idea to merge.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { send } from "../api";
import type { DoneAnswer, GateRow, SessionRow, Task, TaskLink, TaskPage } from "../api/schema";
import { bind } from "../keys";
import { useAnswer } from "../query";
import { go, href } from "../router";
import { act, post } from "../tell";
import { count, money, plural, took } from "../time";
import { Button, Facts, Loading, Problem, Time } from "../ui/basics";
import { Why } from "../ui/calls";
import { Diff } from "../ui/diff";
import { Panel } from "../ui/panel";
import { Status, StatusIcon, provenStatus } from "../ui/status";
import { Exact } from "../ui/text";
import { Ways, visitor } from "../ui/ways";
import { TaskForm } from "./task_form";

export function TaskPanel({ id, back }: { id: string; back: string }) {
  const path = `/api/tasks/${encodeURIComponent(id)}`;
  const { data, error } = useAnswer<TaskPage>(path, (line) => line.node === id || line.task === id);
  const [isEdited, setEdited] = useState(false);
  useEffect(() => bind("e", () => setEdited(true)), []);
  const mayChange = visitor.value?.decides ?? false;
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

// What nothing has proven is said as loudly as a failure.
const LOUD = new Set(["merged untested", "completed unproven"]);

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
          ["cost", page.turns ? `${plural(page.turns, "turn")}${page.usd !== null ? ` · ${money(page.usd)}` : ""} · ${count(page.tokens)} tok` : null],
        ]}
      />
      <Why of={page.why} />
      {page.sessions.length > 0 && <Section title="Sessions">{page.sessions.map((row) => <SessionLine key={row.known.runId} row={row} />)}</Section>}
      {page.proofs.length > 0 && (
        <Section title="Proof">
          {page.proofs.map((proof, index) => (
            <p key={index} class="line-of">
              <Status is={proof.status} /> <b>{proof.check || "no gate"}</b>
              <span class="fill faint">{proof.point}{proof.message && ` · ${proof.message}`}</span>
              {proof.commit && <code class="faint">{proof.commit.slice(0, 9)}</code>}
            </p>
          ))}
        </Section>
      )}
      {page.gates.length > 0 && <Section title="Gates">{page.gates.map((gate) => <Gate key={gate.seq} gate={gate} />)}</Section>}
      {page.notes.length > 0 && <Section title="Notes">{page.notes.map((note, index) => <p key={index} class="said">{note}</p>)}</Section>}
      {page.diff && <Section title="What it changes"><Diff path={page.diff} of={`${task.state} ${page.turns} ${page.gates.length}`} /></Section>}
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

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
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

function Gate({ gate }: { gate: GateRow }) {
  return (
    <details class="call">
      <summary>
        <Status is={gate.status} /> <b>{gate.gate}</b> <span class="faint">{gate.point}</span>
        <span class="fill faint">{gate.message}</span>
        {gate.ms !== null && <span class="figures">{took(gate.ms / 1000)}</span>}
      </summary>
      <Facts rows={[["said", gate.message], ["at", <Time at={gate.at} as="full" />], ["event", <a href={href("events", gate.seq)}>{gate.seq}</a>], ["answered", gate.answer]]} />
      {gate.comments.length > 0 && <ul>{gate.comments.map((comment, index) => <li key={index} class="said">{comment}</li>)}</ul>}
      {gate.remediation && <Exact of={gate.remediation} label="What the agent was asked to fix" />}
      {gate.output && gate.output.bytes > 0 && <Exact of={gate.output} label="Output" />}
    </details>
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

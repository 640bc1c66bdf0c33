// Every session, the newest first, and a form that starts one.
import { useState } from "preact/hooks";
import type { SessionRow, SessionsPage } from "../api/schema";
import { bind } from "../keys";
import { go, href, route, withOption } from "../router";
import { useRows } from "../rows";
import { act } from "../tell";
import { send } from "../api";
import type { DoneAnswer } from "../api/schema";
import { count, money, plural } from "../time";
import { useEffect } from "preact/hooks";
import { Button, Choice, Empty, Loading, Meter, Problem, Time, focus } from "../ui/basics";
import { List } from "../ui/list";
import { Page } from "../ui/page";
import { Panel } from "../ui/panel";
import { Status, provenStatus } from "../ui/status";
import { mayDecide, visitor } from "../ui/ways";

const FILTERS = [["", "All"], ["running", "Running"], ["escalated", "Escalated"], ["completed", "Completed"], ["failed", "Failed"]] as const;

function numberOf(run: string): number {
  return Number(run.replace(/^\D+/, ""));
}

export function Sessions() {
  const status = route.value.options.get("status") ?? "";
  const isStarting = route.value.options.has("start");
  const filter = status ? `&status=${encodeURIComponent(status)}` : "";
  const { rows, error, isLoading, hasMore, more } = useRows<SessionRow>(
    {
      part: (before) => `/api/sessions?limit=200${filter}${before ? `&before=${encodeURIComponent(before)}` : ""}`,
      rows: (answer: SessionsPage) => answer.sessions,
      next: (answer: SessionsPage) => answer.next,
      keyOf: (row) => row.known.runId,
      touched: (line) => (line.session && line.run ? line.run : null),
      some: (runs) => `/api/sessions?runs=${runs.map(encodeURIComponent).join(",")}${filter}`,
      order: (one, other) => numberOf(other.known.runId) - numberOf(one.known.runId),
    },
    [status],
  );
  const mayStart = mayDecide();
  useEffect(() => (mayStart ? bind("c", () => go(withOption("start", "1"))) : undefined), [mayStart]);
  const running = rows.filter((row) => row.known.status === "running").length;
  return (
    <Page
      title="Sessions"
      tools={
        <>
          <Choice label="Which sessions" options={FILTERS} chosen={status as ""} choose={(value) => go(withOption("status", value || null))} />
          {mayStart && (
            <Button kind="main" icon="plus" onClick={() => go(withOption("start", "1"))} title="Key: c">
              Start one
            </Button>
          )}
        </>
      }
      beside={isStarting && mayStart ? <Start /> : null}
    >
      {error && <Problem of={error} />}
      {isLoading && <Loading />}
      {!isLoading && !error && rows.length === 0 && (
        <Empty title={status ? `No session is ${status}` : "No session yet"} command="hookline run &quot;fix the flaky login test&quot;">
          A session is one agent at work on one task, iteration by iteration, until checks and hooks say that it is done.
        </Empty>
      )}
      {rows.length > 0 && (
        <>
          <p class="unseen" role="status">
            {plural(rows.length, "session")}
            {hasMore ? " and more" : ""}, {running} running
          </p>
          <List label="Sessions" rows={rows} keyOf={(row) => row.known.runId} addressOf={(row) => href("sessions", row.known.runId)} height={60} more={more}>
            {(row) => <Row row={row} />}
          </List>
        </>
      )}
    </Page>
  );
}

function Row({ row: { known, limits, usd, tokens, unproven } }: { row: SessionRow }) {
  const limit = limits.find((each) => each.name === "iterations");
  return (
    <>
      <span class="col status-col">
        <Status is={provenStatus(known.status, unproven)} {...(unproven ? { title: unproven } : {})} />
      </span>
      <span class="two">
        <span class="over">
          <b>{known.name}</b> <span class="fill">{known.goal}</span>
        </span>
        <span class="under fill">
          {known.taskId} · {known.runId}
          {known.agent && ` · ${known.agent}`}
          {(unproven ?? known.reason) && ` · ${unproven ?? known.reason}`}
        </span>
      </span>
      <span class="col wide-only meter-col">
        {limit ? <Meter name="iterations" used={limit.used} allowed={limit.allowed} text={`${known.iteration}/${limit.allowed}`} /> : plural(known.iteration, "iteration")}
      </span>
      <span class="col figures wide-only">{usd ? money(usd) : tokens ? `${count(tokens)} tok` : ""}</span>
      <span class="col figures time-col">
        <Time at={known.createdAt} />
      </span>
    </>
  );
}

function Start() {
  const [agent, setAgent] = useState("");
  const [goal, setGoal] = useState("");
  const [name, setName] = useState("");
  const [iterations, setIterations] = useState("");
  const [usd, setUsd] = useState("");
  const [isPlan, setPlan] = useState(false);
  const task = route.value.options.get("task");
  const back = href("sessions");
  const start = async () => {
    const limits: Record<string, number> = {};
    if (iterations) limits.iterations = Number(iterations);
    if (usd) limits.usd = Number(usd);
    const body = { goal: task ? null : goal.trim(), task, agent: agent || null, name: name.trim() || null, limits, plan: isPlan };
    await act(async () => {
      const done = await send<DoneAnswer>("/api/sessions", body);
      go(done.runId ? href("sessions", done.runId) : back);
      return done;
    });
  };
  return (
    <Panel label="Start a session" title="Start a session" back={back}>
      <form class="form" onSubmit={(event) => event.preventDefault()}>
        {task ? (
          <p>On task <a href={href("tasks", task)}>{task}</a>.</p>
        ) : (
          <label>
            Goal
            <textarea rows={4} ref={focus} placeholder="What the agent should do, and how one can tell that it is done" onInput={(event) => setGoal(event.currentTarget.value)} />
          </label>
        )}
        <label>
          Agent
          <select onChange={(event) => setAgent(event.currentTarget.value)}>
            <option value="">the usual one</option>
            {visitor.value?.agents.map((each) => (
              <option key={each.name} value={each.name}>{`${each.name} (${each.driver})${each.usual ? ", the usual one" : ""}`}</option>
            ))}
          </select>
        </label>
        <div class="row-of">
          <label>
            Iterations, at most
            <input type="number" min="1" placeholder="as configured" onInput={(event) => setIterations(event.currentTarget.value)} />
          </label>
          <label>
            US dollars, at most
            <input type="number" min="0" step="0.01" placeholder="as configured" onInput={(event) => setUsd(event.currentTarget.value)} />
          </label>
        </div>
        <label>
          Name (optional)
          <input type="text" onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label class="check">
          <input type="checkbox" onChange={(event) => setPlan(event.currentTarget.checked)} />
          Plan first: the agent writes tasks, and waits for you to start them
        </label>
        <div class="actions">
          <Button kind="main" onClick={start} disabled={!task && !goal.trim()}>
            Start
          </Button>
        </div>
      </form>
    </Panel>
  );
}

// Tasks in the order in which they are taken: list or graph; create, edit, reorder.
import { useEffect, useState } from "preact/hooks";
import { send } from "../api";
import type { DoneAnswer, TaskRow, TasksPage } from "../api/schema";
import { bind } from "../keys";
import { go, href, route, withOption } from "../router";
import { useRows } from "../rows";
import { act } from "../tell";
import { Button, Choice, Empty, Loading, Problem } from "../ui/basics";
import { Icon } from "../ui/icon";
import { List } from "../ui/list";
import { Page } from "../ui/page";
import { Panel } from "../ui/panel";
import { Status } from "../ui/status";
import { mayDecide } from "../ui/ways";
import { Graph } from "./graph";
import { TaskPanel } from "./task";
import { TaskForm } from "./task_form";

const VIEWS = [["list", "List"], ["graph", "Graph"]] as const;
const WHICH = [["", "Open"], ["ready", "Ready"], ["blocked", "Blocked"], ["all", "All"]] as const;

function numberOf(id: string): number {
  return Number(id.replace(/^\D+/, ""));
}

export function Tasks({ parts }: { parts: string[] }) {
  const { options } = route.value;
  const which = options.get("state") ?? "";
  const isGraph = options.get("view") === "graph";
  const chosen = parts[1] ?? null;
  const filter = which === "all" ? "&all=true" : which ? `&state=${encodeURIComponent(which)}` : "";
  const list = useRows<TaskRow>(
    {
      part: (after) => `/api/tasks?limit=200${filter}${after ? `&after=${encodeURIComponent(after)}` : ""}`,
      rows: (answer: TasksPage) => answer.tasks,
      next: (answer: TasksPage) => answer.next,
      keyOf: (row) => row.task.id,
      touched: (line) => line.task ?? (/^T-\d+$/.test(line.node) ? line.node : null),
      some: (ids) => `/api/tasks?ids=${ids.map(encodeURIComponent).join(",")}${filter}`,
      order: (one, other) => one.task.priority - other.task.priority || numberOf(one.task.id) - numberOf(other.task.id),
    },
    [which],
  );
  const mayChange = mayDecide();
  useEffect(() => (mayChange ? bind("c", () => go(withOption("new", "1"))) : undefined), [mayChange]);
  const back = href("tasks") + backOptions(options);
  const beside = options.has("new") && mayChange ? (
    <NewTask back={back} parent={options.get("new")} />
  ) : chosen ? (
    <TaskPanel key={chosen} id={chosen} back={back} />
  ) : null;
  return (
    <Page
      title="Tasks"
      beside={beside}
      tools={
        <>
          <Choice label="View" options={VIEWS} chosen={isGraph ? "graph" : "list"} choose={(view) => go(withOption("view", view === "graph" ? view : null))} />
          <Choice label="Which tasks" options={WHICH} chosen={which as ""} choose={(state) => go(withOption("state", state || null))} />
          {mayChange && (
            <Button kind="main" icon="plus" onClick={() => go(withOption("new", "1"))} title="Key: c">
              Add one
            </Button>
          )}
        </>
      }
    >
      {isGraph ? (
        <Graph chosen={chosen} all={which === "all"} />
      ) : (
        <TaskList {...list} chosen={chosen} options={backOptions(options)} mayChange={mayChange && !which} />
      )}
    </Page>
  );
}

/** The options of the list that stay while a task is opened and closed. */
function backOptions(options: URLSearchParams): string {
  const kept = new URLSearchParams();
  for (const name of ["view", "state"]) {
    const value = options.get(name);
    if (value) kept.set(name, value);
  }
  const text = kept.toString();
  return text ? `?${text}` : "";
}

interface ListProps extends ReturnType<typeof useRows<TaskRow>> {
  chosen: string | null;
  options: string;
  mayChange: boolean;
}

function TaskList({ rows, error, isLoading, more, chosen, options, mayChange }: ListProps) {
  if (error && !rows.length) return <Problem of={error} />;
  if (isLoading) return <Loading />;
  if (!rows.length) {
    return (
      <Empty title="No task here" command="hookline task add &quot;Write the introduction&quot;">
        A task is a piece of work with a goal. Tasks can depend on others; a worker takes those that are ready, in this
        order.
      </Empty>
    );
  }
  return (
    <List
      label="Tasks, in the order in which they are taken"
      rows={rows}
      keyOf={(row) => row.task.id}
      addressOf={(row) => href("tasks", row.task.id) + options}
      chosen={chosen}
      height={52}
      more={more}
      classOf={() => "hovers"}
    >
      {(row, index) => (
        <>
          <Row row={row} />
          {mayChange && <Order rows={rows} index={index} />}
        </>
      )}
    </List>
  );
}

function Row({ row: { task, unmet, session } }: { row: TaskRow }) {
  return (
    <>
      <span class="col status-col">
        <Status is={task.state} />
      </span>
      <span class="two">
        <span class="over">
          <b>{task.id}</b> <span class="fill">{task.goal}</span>
        </span>
        <span class="under fill">
          P{task.priority}
          {task.type && ` · ${task.type}`}
          {task.labels.length > 0 && ` · ${task.labels.join(", ")}`}
          {unmet.length > 0 && ` · waits for ${unmet.slice(0, 6).join(", ")}${unmet.length > 6 ? " …" : ""}`}
          {task.claim && ` · ${task.claim.agent}`}
          {session && ` · ${session}`}
          {task.blockReason && ` · ${task.blockReason}`}
        </span>
      </span>
    </>
  );
}

/** Buttons that move a task up or down in the order; they lie in the row, so they keep its link from opening. */
function Order({ rows, index }: { rows: readonly TaskRow[]; index: number }) {
  const move = async (event: MouseEvent, by: number) => {
    event.preventDefault();
    event.stopPropagation();
    const other = rows[index + by];
    const own = rows[index];
    if (!own || !other) return;
    const tasks = by < 0 ? [own.task.id, other.task.id] : [other.task.id, own.task.id];
    await act(() => send<DoneAnswer>("/api/tasks/order", { tasks }));
  };
  const id = rows[index]?.task.id ?? "";
  return (
    <span class="order">
      <MoveButton label={`Take ${id} earlier`} icon="up" off={index === 0} press={(event) => move(event, -1)} />
      <MoveButton label={`Take ${id} later`} icon="down" off={index === rows.length - 1} press={(event) => move(event, 1)} />
    </span>
  );
}


function MoveButton({ label, icon, off, press }: { label: string; icon: "up" | "down"; off: boolean; press: (event: MouseEvent) => void }) {
  return (
    <button type="button" class="quiet small" aria-label={label} title={label} disabled={off} onClick={press}>
      <Icon name={icon} />
    </button>
  );
}

function NewTask({ back, parent }: { back: string; parent: string | null }) {
  const [isBusy, setBusy] = useState(false);
  return (
    <Panel label="Add a task" title="Add a task" back={back}>
      <TaskForm
        label="Add"
        isBusy={isBusy}
        start={{ parent: parent && parent !== "1" ? parent : "" }}
        save={async (given) => {
          setBusy(true);
          await act(async () => {
            const done = await send<DoneAnswer>("/api/tasks", given);
            go(done.taskId ? href("tasks", done.taskId) : back);
            return done;
          });
          setBusy(false);
        }}
      />
    </Panel>
  );
}

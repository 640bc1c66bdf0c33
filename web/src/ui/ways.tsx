// What a person can do about something now: the server says what, the page has a form for it.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Question, Visitor, Way } from "../api/schema";
import { bind } from "../keys";
import { plural } from "../time";
import { post } from "../tell";
import { Button, focus } from "./basics";
import type { Comments } from "./diff";

export const visitor = signal<Visitor | null>(null);

/** Whether who looks may decide as well. */
export function mayDecide(): boolean {
  return visitor.value?.decides ?? false;
}

interface Props {
  ways: Way[];
  question?: Question | null;
  comments?: Comments;
  taskId?: string | null;
  /** The limits with which a session resumes, if the ones that it has are used up. */
  limits?: Record<string, number>;
  /** Called after something was decided. */
  done?: () => void;
  /** Whether something else waits for an answer first. */
  isAsking?: boolean;
}

/** The limits in a command such as `hookline run --resume --name s --iterations 10`. */
export function limitsIn(command: string): Record<string, number> {
  const found = command.matchAll(/ --(iterations|minutes|usd|tokens) ([\d.]+)/g);
  return Object.fromEntries([...found].map(([, name, value]) => [name, Number(value)]));
}

const MAIN = new Set(["approve", "resume", "start", "unblock", "submit", "merge"]);
const TEXTS: Record<string, { label: string; placeholder: string; needed: boolean }> = {
  reject: { label: "What should be different?", placeholder: "The agent is told this, and what you said about lines.", needed: false },
  message: { label: "Message to the agent", placeholder: "It is part of the agent’s next prompt.", needed: true },
};

export function Ways({ ways, question = null, comments, taskId = null, limits = {}, done, isAsking = false }: Props) {
  const [open, setOpen] = useState<Way | null>(null);
  const me = visitor.value;
  useEffect(() => (open ? bind("Escape", () => setOpen(null)) : undefined), [open]);
  if (!ways.length) return null;
  if (me && !me.decides) return <p class="faint">{me.refused ?? "You can see this. People decide it."}</p>;
  const finish = (worked: boolean) => {
    if (!worked) return;
    setOpen(null);
    if (comments) comments.value = [];
    done?.();
  };
  const press = async (way: Way) => {
    const needsForm = way.verb in TEXTS || way.verb === "stop";
    if (needsForm) setOpen(open?.verb === way.verb ? null : way);
    else finish(await post(way.path, way === resumed ? { limits } : bodyOf(way.verb, question, taskId)));
  };
  const said = comments?.value.length ?? 0;
  // A session takes new limits and a message; a run just continues.
  const resumed = ways.find((way) => way.verb === "resume" && way.path.startsWith("/api/sessions/"));
  const answer = ways.find((way) => way.verb === "answer");
  return (
    <div class="ways">
      {answer && <Answer way={answer} question={question} finish={finish} />}
      <div class="actions">
        {ways.filter((way) => way !== answer).map((way) => (
          <Button key={way.verb} kind={MAIN.has(way.verb) && !isAsking ? "main" : way.verb === "reject" || way.verb === "cancel" ? "bad" : "plain"} onClick={() => press(way)}>
            {way.verb === "reject" && said > 0 ? `${way.label} with ${plural(said, "comment")}` : way.label}
          </Button>
        ))}
        {resumed && (
          <Button kind="quiet" onClick={() => setOpen(open === resumed ? null : resumed)}>
            resume with …
          </Button>
        )}
      </div>
      {open && open === resumed && <ResumeForm way={resumed} limits={limits} finish={finish} />}
      {open && <Form way={open} question={question} comments={comments} finish={finish} />}
    </div>
  );
}

function bodyOf(verb: string, question: Question | null, taskId: string | null): object {
  if (verb === "approve") return { head: question?.head ?? null };
  if (verb === "unblock") return { state: "ready" };
  if (verb === "start") return { task: taskId };
  return {};
}

interface FormProps {
  way: Way;
  question: Question | null;
  comments: Comments | undefined;
  finish: (worked: boolean) => void;
}

function Form({ way, question, comments, finish }: FormProps) {
  const text = useSignal("");
  if (way.verb === "stop") return <StopForm way={way} finish={finish} />;
  const asked = TEXTS[way.verb];
  if (!asked) return null;
  const said = comments?.value ?? [];
  const mayGo = Boolean(text.value.trim() || !asked.needed) && (way.verb !== "reject" || said.length > 0 || text.value.trim() !== "");
  const give = async () => {
    const value = text.value.trim() || null;
    const bodies: Record<string, object> = {
      reject: { comment: value, lines: said, head: question?.head ?? null },
      message: { text: value },
    };
    finish(await post(way.path, bodies[way.verb] ?? {}));
  };
  return (
    <form class="form" onSubmit={(event) => event.preventDefault()}>
      <label>
        {asked.label}
        <textarea rows={3} placeholder={asked.placeholder} ref={focus} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <div class="actions">
        <Button kind={way.verb === "reject" ? "bad" : "main"} onClick={give} disabled={!mayGo}>
          {way.label}
        </Button>
        {way.verb === "reject" && <span class="faint">{plural(said.length, "comment")} on lines</span>}
      </div>
    </form>
  );
}

interface ResumeProps {
  way: Way;
  limits: Record<string, number>;
  finish: (worked: boolean) => void;
}

function ResumeForm({ way, limits, finish }: ResumeProps) {
  const [wanted, setWanted] = useState(limits);
  const message = useSignal("");
  const set = (name: string) => (event: { currentTarget: { value: string } }) => {
    const { [name]: _, ...others } = wanted;
    const { value } = event.currentTarget;
    setWanted(value ? { ...others, [name]: Number(value) } : others);
  };
  const give = async () => finish(await post(way.path, { limits: wanted, message: message.value.trim() || null }));
  return (
    <form class="form" onSubmit={(event) => event.preventDefault()}>
      <label>
        Message to the agent (optional)
        <textarea rows={2} ref={focus} onInput={(event) => (message.value = event.currentTarget.value)} />
      </label>
      <div class="row-of">
        <label>
          Iterations, at most
          <input type="number" min="1" value={wanted.iterations ?? ""} placeholder="as before" onInput={set("iterations")} />
        </label>
        <label>
          US dollars, at most
          <input type="number" min="0" step="0.01" value={wanted.usd ?? ""} placeholder="as before" onInput={set("usd")} />
        </label>
      </div>
      <div class="actions">
        <Button kind="main" onClick={give}>
          {way.label}
        </Button>
      </div>
    </form>
  );
}

function Answer({ way, question, finish }: Omit<FormProps, "comments">) {
  const note = useSignal("");
  const [hasNote, setNote] = useState(false);
  const answer = async (value: boolean) => {
    const body = { effectId: question?.effectId ?? "", answer: value, note: note.value.trim() || null };
    finish(await post(way.path, body));
  };
  return (
    <>
      <div class="actions">
        <Button kind="main" onClick={() => answer(true)}>
          Yes
        </Button>
        <Button onClick={() => answer(false)}>No</Button>
        {!hasNote && (
          <Button kind="quiet" onClick={() => setNote(true)}>
            with a note …
          </Button>
        )}
      </div>
      {hasNote && (
        <div class="form">
          <label>
            A note with your answer
            <textarea rows={2} ref={focus} onInput={(event) => (note.value = event.currentTarget.value)} />
          </label>
        </div>
      )}
    </>
  );
}

function StopForm({ way, finish }: { way: Way; finish: (worked: boolean) => void }) {
  return (
    <div class="form">
      <p>After its turn, what the agent does now is kept. At once, the turn is cut off.</p>
      <div class="actions">
        <Button kind="main" onClick={async () => finish(await post(way.path, {}))}>
          Stop after its turn
        </Button>
        <Button kind="bad" onClick={async () => finish(await post(way.path, { now: true }))}>
          Stop at once
        </Button>
      </div>
    </div>
  );
}

// One stream of events for all tabs of this browser. The tab that holds a lock reads it and passes
// everything on; when that tab is closed, another one gets the lock and continues after its own last
// event. Each tab counts for itself what it has seen, so nothing is lost or seen twice: who finds a
// gap asks for everything that it shows again.
import { signal } from "@preact/signals";
import { bearer } from "./api";
import type { StreamLine } from "./api/schema";
import { forgetToken } from "./token";

/** Some events, and the last one before them: who has not seen that one has a gap. */
interface Batch {
  after: number;
  lines: StreamLine[];
}

type Message = { batch: Batch } | { again: number } | { asks: true } | { at: number; state: Connection };
export type Connection = "connecting" | "live" | "lost";
/** Hears of events; of null if some were missed, and anything may have changed. */
type Listener = (lines: StreamLine[] | null) => void;

const LOCK = "hookline-stream";
const LONGEST_WAIT_MS = 4000;
// A silent connection is dead: the server says more often than that that all is well.
const SILENCE_MS = 45_000;

export const connection = signal<Connection>("connecting");
/** The last event that this tab has seen. */
export const seen = signal(0);
export const isLeader = signal(false);

const listeners = new Set<Listener>();
const channel = new BroadcastChannel("hookline-stream");

export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Begin at an event: what came before is in what the page asks for. */
export function follow(from: number): void {
  seen.value = from;
  channel.onmessage = (message: MessageEvent<Message>) => hear(message.data);
  channel.postMessage({ asks: true } satisfies Message);
  void navigator.locks.request(LOCK, async () => {
    isLeader.value = true;
    await read();
  });
}

function hear(message: Message): void {
  if ("batch" in message) take(message.batch);
  else if ("again" in message) again(message.again);
  else if ("at" in message) {
    connection.value = message.state;
    if (message.at > seen.value) again(message.at);
  } else if (isLeader.value) pass({ at: seen.value, state: connection.value });
}

function pass(message: Message): void {
  channel.postMessage(message);
}

function tell(state: Connection): void {
  if (connection.value === state) return;
  connection.value = state;
  pass({ at: seen.value, state });
}

function take({ after, lines }: Batch): void {
  const last = lines.at(-1);
  if (!last || last.seq <= seen.value) return;
  if (after > seen.value) {
    again(last.seq);
    return;
  }
  const fresh = lines.filter((line) => line.seq > seen.value);
  seen.value = last.seq;
  for (const listener of listeners) listener(fresh);
}

function again(at: number): void {
  seen.value = at;
  for (const listener of listeners) listener(null);
}

async function read(): Promise<never> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await readOnce(() => {
        attempt = 0;
        tell("live");
      });
    } catch {
      // The server is gone or restarts: ask again.
    }
    tell("lost");
    const wait = Math.min(LONGEST_WAIT_MS, 250 * 2 ** attempt);
    await new Promise((done) => setTimeout(done, wait * (0.75 + Math.random() / 2)));
  }
}

async function readOnce(opened: () => void): Promise<void> {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(), SILENCE_MS);
  const path = `api/stream?after=${seen.value}`;
  const answer = await fetch(path, { headers: bearer(), signal: abort.signal, credentials: "omit", cache: "no-store" });
  if (answer.status === 401) forgetToken();
  if (!answer.ok || !answer.body) throw new Error(`the stream answered ${answer.status}`);
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    clearTimeout(timer);
    if (done) return;
    timer = setTimeout(() => abort.abort(), SILENCE_MS);
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    deliver(lines.filter(Boolean).map((line) => JSON.parse(line) as StreamLine));
  }
}

function deliver(lines: StreamLine[]): void {
  const batch = { after: seen.value, lines: lines.filter((line) => line.kind === "event") };
  if (batch.lines.length) {
    pass({ batch });
    take(batch);
  }
  // Too much was missed; or the store was replaced by one that has fewer events.
  const missed = lines.findLast(({ kind, seq }) => kind === "again" || (kind === "beat" && seq < seen.value));
  if (missed) {
    pass({ again: missed.seq });
    again(missed.seq);
  }
}

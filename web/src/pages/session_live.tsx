// What the agent of a running session says and does at this moment. A browser keeps only a few
// connections to a server: at most two tabs listen at once, and only while one sees them.
import { useEffect, useState } from "preact/hooks";
import { bearer } from "../api";
import type { FeedEntry } from "../api/schema";
import { Icon } from "../ui/icon";

const MOST_LISTENERS = 2;
const SHOWN = 6;

export function Live({ run }: { run: string }) {
  const [entries, setEntries] = useState<FeedEntry[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    const add = (more: FeedEntry[]) => setEntries((old) => [...old, ...more].slice(-SHOWN));
    void listenInTurn(run, abort.signal, add);
    return () => abort.abort();
  }, [run]);
  const shown = entries.map(textOf).filter(Boolean);
  if (!shown.length) return null;
  return (
    <section class="now" aria-label="What the agent does now">
      {shown.map((text, index) => (
        <p key={index}>{index === shown.length - 1 ? <Icon name="ring" spins /> : <Icon name="dot" />} <span class="fill">{text}</span></p>
      ))}
    </section>
  );
}

function textOf(entry: FeedEntry): string {
  const { type, name, text, detail, hook, point } = entry.data;
  if (entry.type === "agent") return words([type === "tool" ? name : null, text, detail]);
  return words([entry.type.replaceAll("_", " "), point, hook ?? name]);
}

function words(parts: unknown[]): string {
  const known = parts.filter((part) => typeof part === "string" && part.trim());
  return known.join(" ").slice(0, 400);
}

async function listenInTurn(run: string, stop: AbortSignal, add: (entries: FeedEntry[]) => void): Promise<void> {
  for (let place = 0; place < MOST_LISTENERS && !stop.aborted; place += 1) {
    await navigator.locks.request(`hookline-feed-${place}`, { ifAvailable: true }, async (lock) => {
      if (lock) await readFeed(run, stop, add);
      if (lock) place = MOST_LISTENERS;
    });
  }
}

async function readFeed(run: string, stop: AbortSignal, add: (entries: FeedEntry[]) => void): Promise<void> {
  try {
    const path = `/api/sessions/${encodeURIComponent(run)}/feed?tail=16384`;
    const answer = await fetch(path, { headers: bearer(), signal: stop, credentials: "omit", cache: "no-store" });
    const reader = answer.ok ? answer.body?.pipeThrough(new TextDecoderStream()).getReader() : null;
    let rest = "";
    while (reader) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      add(lines.filter(Boolean).map((line) => JSON.parse(line) as FeedEntry));
    }
  } catch {
    // It was left, or the server is gone: the stream says so.
  }
}

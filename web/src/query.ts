// What the page shows is what the server answered, asked again when an event says it may differ.
import { type Signal, effect, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Refused, get, isAway } from "./api";
import { listen } from "./stream";
import type { StreamLine } from "./api/schema";

export interface Answer<T> {
  data: T | null;
  error: Refused | null;
  isLoading: boolean;
}

/** Whether an event can change an answer. */
export type Concerns = (line: StreamLine) => boolean;

// An answer is asked for again at most this often, however much happens.
const PAUSE_MS = 1000;
const MOST_KEPT = 40;

export class Query<T> {
  readonly answer: Signal<Answer<T>> = signal({ data: null, error: null, isLoading: true });
  private users = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private asking = false;
  private isStale = true;
  private askedAt = 0;
  private stop: (() => void) | null = null;

  constructor(
    private readonly path: string,
    private readonly concerns: Concerns,
  ) {}

  use(): () => void {
    this.users += 1;
    if (this.users === 1) {
      this.stop = listen((lines) => {
        if (!lines || lines.some(this.concerns)) this.invalidate();
      });
      if (this.isStale || this.answer.value.error) void this.ask();
      else this.invalidate();
    }
    return () => {
      this.users -= 1;
      if (!this.users) this.rest();
    };
  }

  get isUsed(): boolean {
    return this.users > 0;
  }

  /** Ask again soon; while nobody looks at the tab, when somebody does. */
  invalidate(): void {
    this.isStale = true;
    if (this.timer || !this.users) return;
    const wait = Math.max(0, this.askedAt + PAUSE_MS - Date.now());
    this.timer = setTimeout(() => {
      this.timer = null;
      if (document.hidden) document.addEventListener("visibilitychange", () => this.invalidate(), { once: true });
      else if (!this.asking) void this.ask();
    }, wait);
  }

  async ask(): Promise<void> {
    this.asking = true;
    this.isStale = false;
    this.askedAt = Date.now();
    try {
      const data = await get<T>(this.path);
      this.answer.value = { data, error: null, isLoading: false };
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      this.answer.value = { data: this.answer.value.data, error: problem, isLoading: false };
      if (isAway(problem)) this.isStale = true;
    } finally {
      this.asking = false;
      if (this.isStale) this.invalidate();
    }
  }

  private rest(): void {
    this.stop?.();
    this.stop = null;
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }
}

const kept = new Map<string, Query<unknown>>();

function query<T>(path: string, concerns: Concerns): Query<T> {
  const known = kept.get(path) as Query<T> | undefined;
  if (known) {
    kept.delete(path);
    kept.set(path, known as Query<unknown>);
    return known;
  }
  const made = new Query<T>(path, concerns);
  kept.set(path, made as Query<unknown>);
  for (const [old, each] of kept) {
    if (kept.size <= MOST_KEPT) break;
    if (!each.isUsed) kept.delete(old);
  }
  return made;
}

const everything: Concerns = () => true;
const NOTHING: Answer<never> = { data: null, error: null, isLoading: false };

/** The server's answer at a path, kept current while a component shows it. */
export function useAnswer<T>(path: string | null, concerns: Concerns = everything): Answer<T> {
  const asked = useMemo(() => (path ? query<T>(path, concerns) : null), [path]);
  useEffect(() => asked?.use(), [asked]);
  return asked ? asked.answer.value : NOTHING;
}

/** After a decision, do not wait for its event to come back. */
export function refresh(): void {
  for (const each of kept.values()) each.invalidate();
}

/** Run something whenever the signals that it reads change; until the component is gone. */
export function useWatch(run: () => void): void {
  useEffect(() => effect(run), []);
}

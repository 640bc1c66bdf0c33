// A long list that stays current: its parts are read as one scrolls, and of what happened only the
// rows that it touched are asked for again.
import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Refused, get, isAway } from "./api";
import type { StreamLine } from "./api/schema";
import { listen } from "./stream";

export interface Source<Row> {
  /** The address of a part of the list, after a position. */
  part: (after: string | null) => string;
  rows: (answer: never) => Row[];
  next: (answer: never) => string | null;
  keyOf: (row: Row) => string;
  /** The row that an event touches, if any. */
  touched: (line: StreamLine) => string | null;
  /** The address of some rows by their keys. */
  some: (keys: string[]) => string;
  /** Where a new row belongs. */
  order: (one: Row, other: Row) => number;
}

const PAUSE_MS = 1000;
const MOST_AT_ONCE = 100;

export interface Rows<Row> {
  rows: readonly Row[];
  error: Refused | null;
  isLoading: boolean;
  hasMore: boolean;
}

class RowList<Row> {
  private readonly state = signal<Rows<Row>>({ rows: [], error: null, isLoading: true, hasMore: false });
  private next: string | null = null;
  private isReading = false;
  private isOver = false;
  private readonly changed = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly source: Source<Row>) {}

  get shown(): ReadonlySignal<Rows<Row>> {
    return this.state;
  }

  begin(): () => void {
    this.isOver = false;
    void this.read(null);
    const stop = listen((lines) => {
      if (!lines) void this.read(null);
      else for (const line of lines) this.note(this.source.touched(line));
    });
    return () => {
      stop();
      this.isOver = true;
      if (this.timer) clearTimeout(this.timer);
      this.timer = null;
    };
  }

  more = (): void => {
    if (this.next && !this.isReading) void this.read(this.next);
  };

  private note(key: string | null): void {
    if (key === null) return;
    this.changed.add(key);
    this.later(() => this.update());
  }

  private later(run: () => Promise<void>): void {
    if (this.isOver) return;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      void run();
    }, PAUSE_MS);
  }

  private async read(after: string | null): Promise<void> {
    this.isReading = true;
    const mayAsk = await this.guarded(async () => {
      const answer = await get<never>(this.source.part(after));
      this.next = this.source.next(answer);
      const found = this.source.rows(answer);
      this.show(after ? merged(this.state.value.rows, found, this.source) : found);
    });
    this.isReading = false;
    if (mayAsk && !after) this.later(() => this.read(null));
  }

  private async update(): Promise<void> {
    if (document.hidden) {
      document.addEventListener("visibilitychange", () => void this.update(), { once: true });
      return;
    }
    const keys = [...this.changed].slice(0, MOST_AT_ONCE);
    for (const key of keys) this.changed.delete(key);
    const mayAsk = await this.guarded(async () => {
      const answer = await get<never>(this.source.some(keys));
      this.show(merged(this.state.value.rows, this.source.rows(answer), this.source));
    });
    // What happened while the server was away is not told a second time.
    if (mayAsk) for (const key of keys) this.changed.add(key);
    const left = this.changed.values().next().value;
    if (left !== undefined) this.note(left);
  }

  private show(rows: readonly Row[]): void {
    this.state.value = { rows, error: null, isLoading: false, hasMore: this.next !== null };
  }

  /** Read something; whether it failed in a way that passes. */
  private async guarded(read: () => Promise<void>): Promise<boolean> {
    try {
      await read();
      return false;
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      this.state.value = { ...this.state.value, error: problem, isLoading: false };
      return isAway(problem);
    }
  }
}

/** Rows with others put into their places; those that were there are replaced. */
function merged<Row>(old: readonly Row[], fresh: readonly Row[], source: Source<Row>): Row[] {
  const places = new Map(old.map((row, index) => [source.keyOf(row), index]));
  const rows = [...old];
  let isSorted = true;
  for (const row of fresh) {
    const place = places.get(source.keyOf(row));
    if (place === undefined) {
      rows.push(row);
      isSorted = false;
    } else {
      const before = rows[place];
      if (before !== undefined && source.order(before, row) !== 0) isSorted = false;
      rows[place] = row;
    }
  }
  return isSorted ? rows : rows.sort(source.order);
}

export function useRows<Row>(source: Source<Row>, deps: readonly unknown[] = []): Rows<Row> & { more: () => void } {
  const list = useMemo(() => new RowList(source), deps);
  useEffect(() => list.begin(), [list]);
  return { ...list.shown.value, more: list.more };
}

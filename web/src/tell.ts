// What the page says after an action: shown for a while, and told to screen readers.
import { signal } from "@preact/signals";
import { Refused, send } from "./api";
import type { DoneAnswer } from "./api/schema";
import { refresh } from "./query";

export interface Notice {
  id: number;
  text: string;
  help: string | null;
  isBad: boolean;
}

export const notices = signal<Notice[]>([]);
let number = 0;

export function tell(text: string, isBad = false, help: string | null = null): void {
  number += 1;
  const notice = { id: number, text, help, isBad };
  notices.value = [...notices.value.slice(-3), notice];
  setTimeout(() => dismiss(notice.id), isBad ? 12_000 : 5000);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((each) => each.id !== id);
}

/** Do what a person asked for, and say what came of it. Whether it worked. */
export async function act(action: () => Promise<DoneAnswer | string>): Promise<boolean> {
  try {
    const done = await action();
    if (typeof done === "string") tell(done);
    else tell(done.message, false, done.next);
    refresh();
    return true;
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    tell(problem.message, true, problem.help);
    return false;
  }
}

/** The same with a verb of the API. */
export function post(path: string, body: object = {}): Promise<boolean> {
  return act(() => send<DoneAnswer>(path, body));
}

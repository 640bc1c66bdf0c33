// The keyboard: a few keys that work everywhere, unless one types.
import { signal } from "@preact/signals";

export interface Shortcut {
  keys: string;
  says: string;
}

/** What `?` lists. */
export const SHORTCUTS: Shortcut[] = [
  { keys: "j  k", says: "next, previous row" },
  { keys: "Enter", says: "open the row" },
  { keys: "Esc", says: "close what is open" },
  { keys: "[  ]", says: "previous, next session" },
  { keys: "c  e", says: "start a session or add a task; edit the open task" },
  { keys: "Ctrl Enter", says: "send what you have written" },
  { keys: "/", says: "search everything" },
  { keys: "Ctrl K", says: "go to a page, a session, a task; do something" },
  { keys: "g", says: "then a Attention, s Sessions, t Tasks, p Pipeline, r Runs, h Hooks, i Insights" },
  { keys: "?", says: "these keys" },
];

export type Dialog = "palette" | "keys" | null;
export const dialog = signal<Dialog>(null);

type Handler = (event: KeyboardEvent) => void;
const bound = new Map<string, Handler[]>();

/** Bind a key while a component is there; the newest binding wins. */
export function bind(key: string, handler: Handler): () => void {
  const handlers = bound.get(key) ?? [];
  bound.set(key, [...handlers, handler]);
  return () => bound.set(key, (bound.get(key) ?? []).filter((each) => each !== handler));
}

function types(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName));
}

/** Press the button of the form that one writes in. */
function send(event: KeyboardEvent): void {
  const form = event.target instanceof Element ? event.target.closest("form.form") : null;
  const button = form?.querySelector<HTMLButtonElement>(".actions button");
  if (!button || button.disabled) return;
  event.preventDefault();
  button.click();
}

let chord: { key: string; at: number } | null = null;

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    dialog.value = dialog.value === "palette" ? null : "palette";
    return;
  }
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && !event.defaultPrevented) {
    send(event);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key !== "Escape" && (types(event.target) || dialog.value)) return;
  const first = chord && Date.now() - chord.at < 1200 ? `${chord.key} ` : "";
  chord = event.key === "g" && !first ? { key: "g", at: Date.now() } : null;
  const handler = bound.get(first + event.key)?.at(-1);
  if (!handler) return;
  event.preventDefault();
  handler(event);
});

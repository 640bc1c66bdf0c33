// Where the page is: `#/sessions/R-1/417?scale=all`. Every row has such an address.
import { signal } from "@preact/signals";

export interface Route {
  /** The parts of the path, decoded: ["sessions", "R-1", "417"]. */
  parts: string[];
  options: URLSearchParams;
}

export const route = signal<Route>(parse());

function parse(): Route {
  const [path = "", options = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { parts: parts.length ? parts : ["attention"], options: new URLSearchParams(options) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a place of this page. */
export function href(...parts: (string | number)[]): string {
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
}

export function go(address: string): void {
  if (location.hash === address) return;
  location.hash = address;
  // The event comes later, and who types `/` and a word at once types it there already.
  route.value = parse();
}

/** Change the address without a step in the history: a selection, a filter. */
export function replace(address: string): void {
  if (location.hash === address) return;
  history.replaceState(null, "", `${location.pathname}${address}`);
  route.value = parse();
}

/** The current address with an option set, or without it. */
export function withOption(name: string, value: string | null): string {
  const { parts, options } = route.value;
  const changed = new URLSearchParams(options);
  if (value) changed.set(name, value);
  else changed.delete(name);
  const text = changed.toString();
  return href(...parts) + (text ? `?${text}` : "");
}

addEventListener("hashchange", () => {
  route.value = parse();
});

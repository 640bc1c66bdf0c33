// Where things are on the page, by their kind and name.
import type { Hit } from "./api/schema";
import { href } from "./router";
import type { IconName } from "./ui/icon";

/** The page of what an event is about. */
export function addressOfNode(node: string): string | null {
  if (/^T-\d+$/.test(node)) return href("tasks", node);
  if (/^R-\d+$/.test(node)) return href("runs", node);
  return null;
}

const KINDS: Record<string, string> = { task: "tasks", session: "sessions", run: "runs", hook: "hooks", event: "events" };

export function addressOfHit(hit: Hit): string | null {
  const page = KINDS[hit.kind];
  if (page) return href(page, hit.id);
  return hit.seq === null ? null : href("events", hit.seq);
}

export interface Place {
  page: string;
  title: string;
  icon: IconName;
  /** The key after `g`. */
  key: string;
}

export const PLACES: readonly Place[] = [
  { page: "attention", title: "Attention", icon: "attention", key: "a" },
  { page: "sessions", title: "Sessions", icon: "sessions", key: "s" },
  { page: "tasks", title: "Tasks", icon: "tasks", key: "t" },
  { page: "pipeline", title: "Pipeline", icon: "pipeline", key: "p" },
  { page: "runs", title: "Runs", icon: "runs", key: "r" },
  { page: "hooks", title: "Hooks", icon: "hooks", key: "h" },
  { page: "insights", title: "Insights", icon: "insights", key: "i" },
];

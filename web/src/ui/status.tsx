// How things stand: a word with a tone and a picture, never a colour alone.
import { Icon, type IconName } from "./icon";

export type Tone = "good" | "bad" | "warn" | "busy" | "idle";

const TONES: Record<Tone, readonly string[]> = {
  good: ["completed", "passed", "ok", "success", "merged", "complete", "fired", "delivered", "true"],
  bad: ["failed", "error", "killed", "timeout", "rejected", "dead", "blocked", "cut", "escalate", "failure", "merged untested", "completed unproven"],
  warn: ["unproven", "escalated", "limit", "waits", "asked", "parked", "paused", "needs_continuation", "overridden", "held back", "interrupted", "stopped", "sent back"],
  busy: ["running", "active", "ready", "continue", "submitted", "live"],
  idle: [],
};
const ICONS: Record<Tone, IconName> = { good: "check", bad: "cross", warn: "bang", busy: "ring", idle: "dot" };
const OWN: Record<string, IconName> = { ready: "runs", continue: "right", submitted: "pipeline", waiting: "clock", paused: "pause", parked: "clock", skipped: "skip", "not yet": "dot", cancelled: "skip", stopped: "pause", pending: "clock" };
const WORDS: Record<string, string> = { needs_continuation: "sent back", created: "not ready", limit: "limit reached" };

export function toneOf(status: string): Tone {
  for (const [tone, words] of Object.entries(TONES)) if (words.includes(status)) return tone as Tone;
  return "idle";
}

export function wordOf(status: string): string {
  return WORDS[status] ?? status.replaceAll("_", " ");
}

/** A status; work that is done by an agent's word alone is not shown as done. */
export function provenStatus(status: string, unproven: string | null): string {
  return status === "completed" && unproven ? "unproven" : status;
}

interface Props {
  is: string;
  /** What to call it, if not by its status. */
  label?: string;
  title?: string;
}

export function Status({ is, label, title }: Props) {
  const tone = toneOf(is);
  return (
    <span class={`status ${tone}`} title={title}>
      <StatusIcon is={is} />
      {label ?? wordOf(is)}
    </span>
  );
}

/** The picture alone, with its word for screen readers. */
export function StatusIcon({ is, says = false }: { is: string; says?: boolean }) {
  const tone = toneOf(is);
  const spins = is === "running";
  return (
    <span class={`mark ${tone}`}>
      <Icon name={OWN[is] ?? ICONS[tone]} spins={spins} />
      {says && <span class="unseen">{wordOf(is)}</span>}
    </span>
  );
}

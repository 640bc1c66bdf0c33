// Times and amounts as people read them: local, with the zone; UTC where one rests the pointer.
const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const SECOND = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const FULL = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
  hourCycle: "h23", timeZoneName: "short",
});

export type Precision = "minute" | "second" | "full";

/** The name of this browser's time zone, as it is at the moment. */
export function zone(): string {
  const parts = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" }).formatToParts();
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "";
}

export function local(iso: string, precision: Precision = "minute"): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  if (precision === "full") return FULL.format(at);
  const clock = (precision === "second" ? SECOND : HOUR).format(at);
  return at.toDateString() === new Date().toDateString() ? clock : `${DAY.format(at)}, ${clock}`;
}

export function utc(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  return `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** How long something took, in at most two units. */
export function took(seconds: number): string {
  if (seconds < 0.0995) return `${Math.max(1, Math.round(seconds * 1000))}ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${pad(whole % 60)}s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}h ${pad(Math.floor((whole % 3600) / 60))}m`;
  return `${Math.floor(whole / 86400)}d ${Math.floor((whole % 86400) / 3600)}h`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

export function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000;
}

export function money(usd: number): string {
  return usd >= 100 ? `$${usd.toFixed(0)}` : usd >= 0.1 || usd === 0 ? `$${usd.toFixed(2)}` : `$${usd.toFixed(4).replace(/0+$/, "")}`;
}

export function count(value: number): string {
  if (value < 10_000) return value.toLocaleString("en");
  return value < 999_500 ? `${(value / 1000).toFixed(value < 99_950 ? 1 : 0)}k` : `${(value / 1e6).toFixed(1)}M`;
}

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  return value < 1e6 ? `${(value / 1000).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

export function plural(number: number, word: string, words = `${word}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? word : words}`;
}

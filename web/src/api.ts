// Asking the server. Every request carries the token as a bearer header, and nothing else.
import { forgetToken, token } from "./token";

/** What the server refused, with its code and what helps. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly help: string | null,
  ) {
    super(message);
  }
}

/** Whether the same is worth asking again: the server or its store is away for a while. */
export function isAway(problem: Refused): boolean {
  return problem.status === 0 || problem.status === 503;
}

interface Problem {
  error?: { code?: string; message?: string; help?: string | null };
}

export function bearer(): Record<string, string> {
  return { Authorization: `Bearer ${token.value ?? ""}` };
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, credentials: "omit", cache: "no-store" });
  } catch {
    throw new Refused(0, "offline", "The server does not answer.", "Is `hookline serve` running?");
  }
  if (answer.status === 401) forgetToken();
  const isJson = answer.headers.get("content-type")?.includes("json");
  if (!answer.ok) {
    const said = isJson ? ((await answer.json()) as Problem).error : undefined;
    const message = said?.message ?? `The server answered ${answer.status}.`;
    throw new Refused(answer.status, said?.code ?? "refused", message, said?.help ?? null);
  }
  return (answer.status === 204 ? undefined : isJson ? await answer.json() : await answer.text()) as T;
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask<T>(path, { headers: bearer(), ...(signal ? { signal } : {}) });
}

export function send<T>(path: string, body: object): Promise<T> {
  const headers = { ...bearer(), "Content-Type": "application/json" };
  return ask<T>(path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** A path with its parts escaped: path`/api/tasks/${id}`. */
export function path(texts: TemplateStringsArray, ...values: (string | number)[]): string {
  return texts.reduce((all, text, n) => all + encodeURIComponent(values[n - 1] ?? "") + text);
}

// The steps of an iteration as lines: a turn, its checks, each hook that was called, what was told.
import type { CallRow, ChecksStep, IterationPage, PointStep, ToldStep, TurnStep } from "../api/schema";

export type Step = IterationPage["steps"][number];

/** A step in a line; `step` names it in the address: its place, and the call in it. */
export interface Line {
  step: string;
  kind: string;
  name: string;
  text: string;
  status: string;
  seconds: number | null;
  at: string;
}

export function linesOf(page: IterationPage): Line[] {
  return page.steps.flatMap((step, place): Line[] => {
    switch (step.kind) {
      case "turn":
        return [turnLine(step, place)];
      case "checks":
        return [checksLine(step, place)];
      case "point":
        return pointLines(step, place);
      case "told":
        return [toldLine(step, place)];
    }
  });
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0]?.slice(0, 200) ?? "";
}

function turnLine(step: TurnStep, place: number): Line {
  const text = step.error ?? firstLine(step.text.text);
  const status = step.error ? "failed" : step.endSeq === null ? "running" : "ok";
  return { step: String(place), kind: "turn", name: "agent", text, status, seconds: step.seconds, at: step.at };
}

function checksLine(step: ChecksStep, place: number): Line {
  const failed = step.results.filter((rule) => !rule.passed);
  const rules = failed.length ? failed : step.results;
  const text = rules.map((rule) => rule.ruleName).join(", ") || "no rule is configured";
  return { step: String(place), kind: "checks", name: "validation", text, status: statusOfChecks(step), seconds: step.seconds, at: step.at };
}

/** That a hook calls it complete proves nothing yet: its iteration says whether something does. */
export function statusOfDecision(action: string): string {
  return action === "complete" ? "told" : action;
}

/** Where nothing was checked, nothing has passed. */
export function statusOfChecks(step: ChecksStep): string {
  if (!step.results.length) return "none";
  return step.results.every((rule) => rule.passed) ? "passed" : "failed";
}

function pointLines(step: PointStep, place: number): Line[] {
  const calls = step.calls.map((call, index) => callLine(step, call, `${place}.${index}`));
  if (!step.decision) return calls;
  const { action, reason } = step.decision;
  return [...calls, { step: String(place), kind: "decision", name: action, text: reason, status: statusOfDecision(action), seconds: null, at: step.at }];
}

function callLine(step: PointStep, call: CallRow, name: string): Line {
  const why = call.status === "skipped" && call.condition ? `when ${call.condition} is false` : (call.error ?? firstLine(call.stdout?.text ?? ""));
  const status = call.status === "ok" && call.exitCode ? "failed" : call.status;
  const text = call.exitCode && !call.error ? `exit ${call.exitCode} · ${why}` : why;
  return { step: name, kind: step.point, name: call.name, text, status, seconds: call.ms === null ? null : call.ms / 1000, at: call.startedAt ?? step.at };
}

function toldLine(step: ToldStep, place: number): Line {
  return { step: String(place), kind: "told", name: step.title, text: firstLine(step.text.text), status: "told", seconds: null, at: step.at };
}

export function stepAt(page: IterationPage, name: string): { step: Step; call: CallRow | null } | null {
  const [place, call] = name.split(".");
  const step = page.steps[Number(place)];
  if (!step) return null;
  return { step, call: step.kind === "point" && call !== undefined ? (step.calls[Number(call)] ?? null) : null };
}

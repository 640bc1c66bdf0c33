// The proof that a stop hook kept: which diff, which checks, how they ended, which tests were edited.
import type { ComponentChildren } from "preact";
import { Facts } from "./basics";
import { Status } from "./status";

type Fields = Record<string, unknown>;

/** The receipt in an answer, if there is one. */
export function receiptIn(answer: unknown): Fields | null {
  const metadata = fields(fields(answer)?.metadata);
  return fields(metadata?.receipt);
}

function fields(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.flatMap((each: unknown): Fields[] => fields(each) ? [each as Fields] : []) : [];
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

export function Receipt({ of }: { of: Fields }) {
  const edited = list(of.editedTests);
  const diff = text(of.diffHash);
  return (
    <div class="receipt">
      <Facts rows={[["diff", diff && <code title={diff}>{diff.slice(0, 12)}</code>], ["files", text(of.changedFiles)]]} />
      <Rows
        names={["check", "command", "exit"]}
        rows={list(of.checks).map((check) => [text(check.name), <code key="command">{text(check.command)}</code>, <Status key="exit" is={check.exitCode === 0 ? "passed" : "failed"} label={text(check.exitCode)} />])}
      />
      {edited.length > 0 && <Rows names={["edited test", "added", "removed"]} rows={edited.map((test) => [text(test.path), text(test.added), text(test.removed)])} />}
    </div>
  );
}

function Rows({ names, rows }: { names: string[]; rows: ComponentChildren[][] }) {
  if (!rows.length) return null;
  return (
    <table class="figures-of">
      <thead>
        <tr>{names.map((name) => <th key={name} scope="col">{name}</th>)}</tr>
      </thead>
      <tbody>
        {rows.map((row, index) => <tr key={index}>{row.map((cell, place) => <td key={place}>{cell}</td>)}</tr>)}
      </tbody>
    </table>
  );
}

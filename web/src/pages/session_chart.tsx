// What each iteration took, and what it cost: a bar each.
import { useState } from "preact/hooks";
import type { IterationRow } from "../api/schema";
import { href } from "../router";
import { count, money, took } from "../time";
import { Choice } from "../ui/basics";
import { Bars } from "../ui/chart";

const FIGURES = {
  seconds: { label: "time", of: (row: IterationRow) => row.seconds, text: took },
  tokens: { label: "tokens", of: (row: IterationRow) => row.tokens, text: count },
  usd: { label: "money", of: (row: IterationRow) => row.usd, text: money },
} as const;
type Figure = keyof typeof FIGURES;

export function Chart({ run, rows }: { run: string; rows: IterationRow[] }) {
  const [figure, setFigure] = useState<Figure>("seconds");
  const done = rows.filter((row) => row.iteration !== null && row.ended);
  if (done.length < 3) return null;
  const known = (Object.keys(FIGURES) as Figure[]).filter((name) => done.some((row) => FIGURES[name].of(row)));
  const { of, text, label } = FIGURES[figure];
  const values = done.map(of);
  const most = Math.max(...values.map((value) => value ?? 0));
  return (
    <div class="chart">
      <Bars
        label={`${label} of each of ${done.length} iterations, at most ${text(most)}`}
        names={done.map((row) => String(row.iteration))}
        values={values}
        text={text}
        addressOf={(index) => href("sessions", run, done[index]?.chapter ?? 0)}
      />
      {known.length > 1 && <Choice label="What the bars show" options={known.map((name) => [name, FIGURES[name].label] as const)} chosen={figure} choose={setFigure} />}
    </div>
  );
}

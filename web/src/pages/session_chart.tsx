// What each iteration took, and what it cost: a bar each, with uPlot.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { IterationRow } from "../api/schema";
import { theme } from "../theme";
import { money, took, count } from "../time";
import { Choice } from "../ui/basics";

const FIGURES = {
  seconds: { label: "time", of: (row: IterationRow) => row.seconds, text: took },
  tokens: { label: "tokens", of: (row: IterationRow) => row.tokens, text: count },
  usd: { label: "money", of: (row: IterationRow) => row.usd, text: money },
} as const;
type Figure = keyof typeof FIGURES;

export function Chart({ rows }: { rows: IterationRow[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [figure, setFigure] = useState<Figure>("seconds");
  const done = rows.filter((row) => row.iteration !== null && row.ended);
  const known = (Object.keys(FIGURES) as Figure[]).filter((name) => done.some((row) => FIGURES[name].of(row)));
  const dark = theme.value;
  useEffect(() => {
    const element = box.current;
    if (!element || done.length < 3) return;
    const plot = draw(element, done, figure);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 72 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [done.length, figure, dark]);
  if (done.length < 3) return null;
  const { of, text, label } = FIGURES[figure];
  const values = done.map((row) => of(row) ?? 0);
  const most = Math.max(...values);
  return (
    <figure class="chart">
      <figcaption class="unseen">
        {label} of each of {done.length} iterations, at most {text(most)}
      </figcaption>
      <div ref={box} aria-hidden="true" />
      {known.length > 1 && <Choice label="What the bars show" options={known.map((name) => [name, FIGURES[name].label] as const)} chosen={figure} choose={setFigure} />}
    </figure>
  );
}

function draw(element: HTMLElement, rows: IterationRow[], figure: Figure): uPlot {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const { of, text } = FIGURES[figure];
  const axis = { stroke: colour("--faint"), grid: { show: false }, ticks: { show: false }, font: "11px system-ui" };
  const bars = uPlot.paths.bars?.({ size: [0.7, 24], radius: 0.15 });
  return new uPlot(
    {
      width: element.clientWidth,
      height: 72,
      legend: { show: false },
      cursor: { show: false },
      padding: [4, 0, 0, 0],
      scales: { x: { time: false, range: (_, from, to) => [from - 0.6, to + 0.6] }, y: { range: (_, __, to) => [0, to || 1] } },
      axes: [
        { ...axis, size: 18, gap: 2, incrs: [1, 5, 10, 50, 100], values: (_, splits) => splits.map((value) => (Number.isInteger(value) ? String(value) : "")) },
        { ...axis, size: 46, gap: 4, space: 24, values: (_, splits) => splits.map((value) => (value ? text(value) : "")) },
      ],
      series: [{}, { fill: colour("--accent-soft"), stroke: colour("--accent"), width: 1, points: { show: false }, ...(bars ? { paths: bars } : {}) }],
    },
    [rows.map((row) => row.iteration ?? 0), rows.map((row) => of(row) ?? null)],
    element,
  );
}

// A small chart as SVG: its colours come from the style sheet, its values are text for who cannot
// see it. A library for this would be more than a third of all the page's JavaScript.
import { useEffect, useRef, useState } from "preact/hooks";
import { go } from "../router";

interface Props {
  label: string;
  /** What is under each value. */
  names: readonly string[];
  values: readonly (number | null)[];
  text: (value: number) => string;
  /** Where a value leads; the list beside the chart leads there, too. */
  addressOf?: (index: number) => string;
  height?: number;
}

const LEFT = 46;
const BOTTOM = 16;
const TOP = 6;

/** The width of an element, as it changes. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

/** A round number that is not smaller: 1, 2 or 5 times a power of ten. */
export function roundedUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((each) => each * power >= value * 0.999) ?? 10) * power;
}

export function Bars({ label, names, values, text, addressOf, height = 72 }: Props) {
  const { box, width } = useWidth();
  const most = roundedUp(Math.max(0, ...values.map((value) => value ?? 0)));
  const step = Math.max(0, width - LEFT) / Math.max(1, values.length);
  const room = height - TOP - BOTTOM;
  const bar = Math.max(1, Math.min(24, step * 0.7));
  const every = Math.ceil(28 / Math.max(step, 0.01));
  const at = (value: number) => TOP + room * (1 - value / most);
  return (
    <div class="bars" ref={box}>
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={label}>
          {[0, most / 2, most].map((value) => (
            <g key={value}>
              <line x1={LEFT} x2={width} y1={at(value)} y2={at(value)} />
              {value > 0 && <text x={LEFT - 6} y={at(value) + 4} text-anchor="end">{text(value)}</text>}
            </g>
          ))}
          {values.map((value, index) => {
            const middle = LEFT + step * (index + 0.5);
            const shape = value !== null && (
              <rect x={middle - bar / 2} y={at(value)} width={bar} height={Math.max(1, room - at(value) + TOP)} rx={Math.min(2, bar / 4)}>
                <title>{`${names[index]}: ${text(value)}`}</title>
              </rect>
            );
            return (
              <g key={index} class={addressOf && "leads"} onClick={addressOf && (() => go(addressOf(index)))}>
                {shape}
                {index % every === 0 && <text x={middle} y={height - 3} text-anchor="middle">{names[index]}</text>}
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}

interface LinesProps {
  label: string;
  x: readonly number[];
  lines: readonly { label: string; values: readonly (number | null)[] }[];
  name: (x: number) => string;
  text: (value: number) => string;
  height?: number;
}

const MOST_LINES = 5;

/** A line for each series, with its name at its end. */
export function Lines({ label, x, lines, name, text, height = 120 }: LinesProps) {
  const { box, width } = useWidth();
  const shown = lines.slice(0, MOST_LINES);
  const most = roundedUp(Math.max(0, ...shown.flatMap((line) => line.values.map((value) => value ?? 0))));
  const room = height - TOP - BOTTOM;
  const at = (value: number) => TOP + room * (1 - value / most);
  const place = (index: number) => LEFT + 8 + ((width - LEFT - 24) * index) / Math.max(1, x.length - 1);
  const every = Math.max(1, Math.ceil(x.length / Math.max(1, Math.floor(width / 90))));
  return (
    <div class="bars lines-of" ref={box}>
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={label}>
          {[0, most / 2, most].map((value) => (
            <g key={value}>
              <line x1={LEFT} x2={width} y1={at(value)} y2={at(value)} />
              {value > 0 && <text x={LEFT - 6} y={at(value) + 4} text-anchor="end">{text(value)}</text>}
            </g>
          ))}
          {x.map((each, index) => index % every === 0 && <text key={each} x={place(index)} y={height - 3} text-anchor="middle">{name(each)}</text>)}
          {shown.map((line, number) => (
            <g key={line.label} class={`line-${number}`}>
              <path d={pathOf(line.values.map((value, index) => (value === null ? null : [place(index), at(value)])))} />
              {line.values.map((value, index) => value !== null && (
                <circle key={index} cx={place(index)} cy={at(value)} r="3">
                  <title>{`${line.label}, ${name(x[index] ?? 0)}: ${text(value)}`}</title>
                </circle>
              ))}
            </g>
          ))}
        </svg>
      )}
      {shown.length > 1 && <p class="key">{shown.map((line, number) => <span key={line.label} class={`line-${number}`}>{line.label}</span>)}</p>}
    </div>
  );
}

/** A line through points; where one is missing it is broken. */
function pathOf(points: (number[] | null)[]): string {
  let isBroken = true;
  return points
    .map((point) => {
      const step = point ? `${isBroken ? "M" : "L"}${point.map((each) => each.toFixed(1)).join(" ")}` : "";
      isBroken = !point;
      return step;
    })
    .join("");
}

// The task graph as the server laid it out, on a canvas: only what is in sight is drawn, so that
// thousands of tasks move smoothly. The list beside it says the same to who cannot see it.
import { useEffect, useRef } from "preact/hooks";
import type { GraphNode, GraphPage } from "../api/schema";
import { useAnswer } from "../query";
import { go, href, route } from "../router";
import { theme } from "../theme";
import { plural } from "../time";
import { Empty, Loading, Problem } from "../ui/basics";
import { Icon } from "../ui/icon";
import { toneOf, wordOf } from "../ui/status";

// A graph that would be smaller than one can read begins at its first tasks.
const READABLE = 1;
const SMALLEST = 0.04;

interface View {
  x: number;
  y: number;
  scale: number;
}

export function Graph({ chosen, all }: { chosen: string | null; all: boolean }) {
  const { data, error } = useAnswer<GraphPage>(`/api/graph${all ? "?all=true" : ""}`, (line) => line.type.startsWith("task_"));
  if (error) return <Problem of={error} />;
  if (!data) return <Loading />;
  if (!data.nodes.length) {
    return (
      <Empty title="No open task to draw" command="hookline task add &quot;Ship it&quot; --depends-on T-1">
        Tasks are drawn from left to right: what is ready now, then what waits for it.
      </Empty>
    );
  }
  return <Drawing page={data} chosen={chosen} />;
}

function Drawing({ page, chosen }: { page: GraphPage; chosen: string | null }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View | null>(null);
  const dark = theme.value;
  const redraw = useRef(() => {});
  redraw.current = () => {
    const element = canvas.current;
    if (!element) return;
    view.current ??= fit(element, page, READABLE);
    draw(element, page, view.current, chosen);
  };
  useEffect(() => redraw.current(), [page, chosen, dark]);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const observer = new ResizeObserver(() => redraw.current());
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const zoom = (by: number) => {
    const element = canvas.current;
    if (element && view.current) view.current = zoomed(view.current, by, element.clientWidth / 2, element.clientHeight / 2);
    redraw.current();
  };
  const fitAll = () => {
    if (canvas.current) view.current = fit(canvas.current, page, SMALLEST);
    redraw.current();
  };
  const left = page.leftOut ? ` ${page.leftOut.toLocaleString("en")} not drawn.` : "";
  const text = `${plural(page.nodes.length, "task")} and ${plural(page.arrows.length, "dependency", "dependencies")}.${left}`;
  return (
    <div class="graph">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`The graph: ${text} The list has the same tasks. Arrow keys move it, plus and minus scale it.`}
        {...gestures(canvas, view, page, () => redraw.current())}
      />
      <p class="legend faint">{text}</p>
      <div class="zoom">
        <button type="button" onClick={() => zoom(1.3)} aria-label="Larger"><Icon name="plus" /></button>
        <button type="button" onClick={() => zoom(1 / 1.3)} aria-label="Smaller"><Icon name="skip" /></button>
        <button type="button" onClick={fitAll}>Fit</button>
      </div>
    </div>
  );
}

function fit(element: HTMLCanvasElement, page: GraphPage, least: number): View {
  const whole = Math.min((element.clientWidth - 32) / page.width, (element.clientHeight - 32) / page.height);
  const scale = Math.min(1.2, Math.max(whole, least));
  const x = page.width * scale < element.clientWidth ? (element.clientWidth - page.width * scale) / 2 : 16;
  const y = page.height * scale < element.clientHeight ? (element.clientHeight - page.height * scale) / 2 : 16;
  return { x, y, scale };
}

function zoomed(view: View, by: number, x: number, y: number): View {
  const scale = Math.min(2, Math.max(SMALLEST, view.scale * by));
  const ratio = scale / view.scale;
  return { scale, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio };
}

type Held<T> = { current: T };

function gestures(canvas: Held<HTMLCanvasElement | null>, view: Held<View | null>, page: GraphPage, redraw: () => void) {
  const held = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const pan = (x: number, y: number) => {
    if (view.current) view.current = { ...view.current, x: view.current.x + x, y: view.current.y + y };
    redraw();
  };
  const steps: Record<string, () => void> = {
    ArrowLeft: () => pan(80, 0), ArrowRight: () => pan(-80, 0), ArrowUp: () => pan(0, 80), ArrowDown: () => pan(0, -80),
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      held.current = { x: event.clientX, y: event.clientY, moved: false };
      canvas.current?.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const from = held.current;
      if (!from) return;
      const [x, y] = [event.clientX - from.x, event.clientY - from.y];
      if (!from.moved && Math.hypot(x, y) < 4) return;
      held.current = { x: event.clientX, y: event.clientY, moved: true };
      pan(x, y);
    },
    onPointerUp: (event: PointerEvent) => {
      const wasMoved = held.current?.moved;
      held.current = null;
      const found = !wasMoved && view.current ? nodeAt(page, view.current, event.offsetX, event.offsetY) : null;
      if (found) go(`${href("tasks", found.id)}?${route.value.options.toString()}`);
    },
    onWheel: (event: WheelEvent) => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) {
        if (view.current) view.current = zoomed(view.current, Math.exp(-event.deltaY / 200), event.offsetX, event.offsetY);
        redraw();
      } else pan(-event.deltaX, -event.deltaY);
    },
    onKeyDown: (event: KeyboardEvent) => {
      const step = steps[event.key];
      if (step) event.preventDefault();
      step?.();
      const by = { "+": 1.3, "-": 1 / 1.3 }[event.key];
      if (by && view.current && canvas.current) {
        view.current = zoomed(view.current, by, canvas.current.clientWidth / 2, canvas.current.clientHeight / 2);
        redraw();
      }
    },
  };
}

function nodeAt(page: GraphPage, view: View, x: number, y: number): GraphNode | null {
  const [at, down] = [(x - view.x) / view.scale, (y - view.y) / view.scale];
  return page.nodes.find((node) => Math.abs(node.x - at) <= page.boxWidth / 2 && Math.abs(node.y - down) <= page.boxHeight / 2) ?? null;
}

function draw(element: HTMLCanvasElement, page: GraphPage, view: View, chosen: string | null): void {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [element.clientWidth, element.clientHeight];
  if (element.width !== width * ratio) element.width = width * ratio;
  if (element.height !== height * ratio) element.height = height * ratio;
  const pen = element.getContext("2d");
  if (!pen) return;
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.translate(view.x, view.y);
  pen.scale(view.scale, view.scale);
  const sight = { left: -view.x / view.scale, top: -view.y / view.scale, right: (width - view.x) / view.scale, bottom: (height - view.y) / view.scale };
  drawArrows(pen, page, sight, chosen, { line: colour("--line-strong"), chosen: colour("--accent") }, view.scale);
  const colours = { box: colour("--raised"), line: colour("--line-strong"), text: colour("--text"), faint: colour("--faint"), accent: colour("--accent") };
  for (const node of page.nodes) {
    if (node.x + page.boxWidth < sight.left || node.x - page.boxWidth > sight.right) continue;
    if (node.y + page.boxHeight < sight.top || node.y - page.boxHeight > sight.bottom) continue;
    drawNode(pen, page, node, colours, colour(`--${toneOf(node.state)}`), node.id === chosen, view.scale);
  }
}

interface Sight {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function drawArrows(pen: CanvasRenderingContext2D, page: GraphPage, sight: Sight, chosen: string | null, colours: { line: string; chosen: string }, scale: number): void {
  for (const ofChosen of [false, true]) {
    pen.strokeStyle = ofChosen ? colours.chosen : colours.line;
    pen.lineWidth = Math.max(ofChosen ? 1.8 : 1.1, 0.6 / scale);
    pen.beginPath();
    for (const arrow of page.arrows) {
      if ((arrow.source === chosen || arrow.target === chosen) !== ofChosen) continue;
      trace(pen, arrow.points, sight);
    }
    pen.stroke();
  }
}

/** A line through points, with soft bends between columns. */
function trace(pen: CanvasRenderingContext2D, points: readonly number[], sight: Sight): void {
  const xs = points.filter((_, index) => index % 2 === 0);
  const ys = points.filter((_, index) => index % 2 === 1);
  if (Math.max(...xs) < sight.left || Math.min(...xs) > sight.right || Math.max(...ys) < sight.top || Math.min(...ys) > sight.bottom) return;
  let [x, y] = [xs[0] ?? 0, ys[0] ?? 0];
  pen.moveTo(x, y);
  for (let index = 1; index < xs.length; index += 1) {
    const [toX, toY] = [xs[index] ?? 0, ys[index] ?? 0];
    const bend = (toX - x) / 2;
    pen.bezierCurveTo(x + bend, y, toX - bend, toY, toX, toY);
    [x, y] = [toX, toY];
  }
}

interface Colours {
  box: string;
  line: string;
  text: string;
  faint: string;
  accent: string;
}

function drawNode(pen: CanvasRenderingContext2D, page: GraphPage, node: GraphNode, colours: Colours, tone: string, isChosen: boolean, scale: number): void {
  const [width, height] = [page.boxWidth, page.boxHeight];
  const [left, top] = [node.x - width / 2, node.y - height / 2];
  pen.beginPath();
  pen.roundRect(left, top, width, height, 6);
  pen.fillStyle = scale < 0.3 ? tone : colours.box;
  pen.fill();
  pen.lineWidth = isChosen ? 2.5 : 1;
  pen.strokeStyle = isChosen ? colours.accent : colours.line;
  pen.stroke();
  if (scale < 0.3) return;
  pen.fillStyle = tone;
  pen.beginPath();
  pen.roundRect(left, top, 4, height, [6, 0, 0, 6]);
  pen.fill();
  pen.save();
  pen.beginPath();
  pen.rect(left + 8, top, width - 14, height);
  pen.clip();
  pen.textBaseline = "middle";
  pen.font = "600 12px system-ui, sans-serif";
  pen.fillStyle = colours.text;
  pen.fillText(node.id, left + 12, node.y - 8);
  const begin = left + 18 + pen.measureText(node.id).width;
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = colours.faint;
  pen.fillText(`${wordOf(node.state)}${node.agent ? ` · ${node.agent}` : ""}`, begin, node.y - 8);
  pen.fillStyle = colours.text;
  pen.fillText(shortened(pen, node.goal, width - 20), left + 12, node.y + 9);
  pen.restore();
}

function shortened(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let length = Math.min(text.length, 80);
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > width) length -= 2;
  return `${text.slice(0, length)}…`;
}

// A list of which only the rows in sight are in the document, whatever its length. `j` and `k` move
// through it; the row that has the focus opens with Enter, as it is a link.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { bind } from "../keys";
import { go } from "../router";

const BEYOND = 8;

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Where a row leads; null if it leads nowhere. */
  addressOf: (row: Row) => string | null;
  /** The key of the row that is open beside the list. */
  chosen?: string | null;
  height?: number;
  children: (row: Row, index: number) => ComponentChildren;
  /** Called when the end comes into sight. */
  more?: (() => void) | undefined;
  classOf?: (row: Row) => string;
}

export function List<Row>(props: Props<Row>) {
  const { label, rows, keyOf, addressOf, chosen = null, height = 44, children, more, classOf } = props;
  const box = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ first: 0, last: 40 });
  const total = useRef(rows.length);
  total.current = rows.length;

  const look = () => {
    const element = box.current;
    if (!element) return;
    const first = Math.max(0, Math.floor(element.scrollTop / height) - BEYOND);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / height) + BEYOND;
    setSight((old) => (old.first === first && old.last === last ? old : { first, last }));
    if (more && last >= total.current) more();
  };
  useLayoutEffect(look, [height, rows.length]);
  useEffect(() => {
    const observer = new ResizeObserver(look);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  const current = useRef({ rows, keyOf, addressOf, chosen });
  current.current = { rows, keyOf, addressOf, chosen };
  useLayoutEffect(() => {
    const step = (by: number) => () => move(box.current, current.current, by, height);
    const unbind = [bind("j", step(1)), bind("k", step(-1))];
    return () => unbind.forEach((each) => each());
  }, [height]);

  return (
    <div class="list" ref={box} onScroll={look}>
      <div class="spacer" style={{ height: `${rows.length * height}px` }}>
        <ul aria-label={label}>
          {rows.slice(sight.first, sight.last).map((row, offset) => {
            const index = sight.first + offset;
            const key = keyOf(row);
            const address = addressOf(row);
            const inner = children(row, index);
            return (
              <li
                key={key}
                data-key={key}
                class={classOf?.(row)}
                aria-setsize={rows.length}
                aria-posinset={index + 1}
                style={{ transform: `translateY(${index * height}px)`, height: `${height}px` }}
              >
                {address ? (
                  <a class="row" href={address} aria-current={key === chosen ? "true" : undefined}>
                    {inner}
                  </a>
                ) : (
                  <div class="row">{inner}</div>
                )}
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

interface Current<Row> {
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  addressOf: (row: Row) => string | null;
  chosen: string | null;
}

/** Move the focus to the next row; if a row is open beside the list, open the next one. */
function move<Row>(box: HTMLElement | null, now: Current<Row>, by: number, height: number): void {
  if (!box) return;
  const held = document.activeElement?.closest<HTMLElement>("li[data-key]");
  const key = (held && box.contains(held) ? held.dataset.key : undefined) ?? now.chosen;
  const at = key === null ? -1 : now.rows.findIndex((row) => now.keyOf(row) === key);
  const next = Math.min(now.rows.length - 1, Math.max(0, at + by));
  const row = now.rows[next];
  if (!row) return;
  const top = next * height;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
  const wanted = now.keyOf(row);
  const address = now.addressOf(row);
  if (now.chosen !== null && address) go(address);
  // A row that is not in the document yet is there with the next frame.
  if (!focusOn(box, wanted)) requestAnimationFrame(() => focusOn(box, wanted));
}

function focusOn(box: HTMLElement, key: string): boolean {
  const row = box.querySelector<HTMLElement>(`li[data-key="${CSS.escape(key)}"] a`);
  row?.focus({ preventScroll: true });
  return row !== null;
}

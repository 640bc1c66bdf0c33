// Small parts of every page.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Refused } from "../api";
import { type Precision, local, utc } from "../time";
import { tell } from "../tell";
import { Icon, type IconName } from "./icon";

/** A time: local, and in UTC where the pointer rests. */
export function Time({ at, as = "minute" }: { at: string | null | undefined; as?: Precision }) {
  if (!at) return null;
  return (
    <time dateTime={at} title={utc(at)}>
      {local(at, as)}
    </time>
  );
}

/** A command to type, with a button that copies it. */
export function Command({ text }: { text: string }) {
  const copy = async () => {
    // What else one could type is shown, not copied: `gate approve T-1 (or: reject)`.
    await navigator.clipboard.writeText(text.replace(/ \(or: .*\)$/, ""));
    tell("copied");
  };
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="quiet small" onClick={copy} aria-label={`Copy: ${text}`}>
        <Icon name="copy" />
      </button>
    </span>
  );
}

interface ButtonProps {
  children: ComponentChildren;
  onClick: () => Promise<unknown> | void;
  kind?: "main" | "bad" | "quiet" | "plain";
  icon?: IconName;
  disabled?: boolean;
  title?: string;
}

/** A button that is busy while what it began goes on, so that nobody does it twice. */
export function Button({ children, onClick, kind = "plain", icon, disabled = false, title }: ButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    try {
      await onClick();
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" class={kind} onClick={press} disabled={disabled || isBusy} title={title} aria-busy={isBusy}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** What to show where there is nothing: what would be here, and what to type for it. */
export function Empty({ title, children, command }: { title: string; children?: ComponentChildren; command?: string }) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children && <p>{children}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

export function Problem({ of }: { of: Refused }) {
  return (
    <div class="problem" role="alert">
      <p>{of.message}</p>
      {of.help && <p class="faint">{of.help}</p>}
    </div>
  );
}

export function Loading() {
  return (
    <p class="loading" role="status">
      <Icon name="ring" spins /> Loading…
    </p>
  );
}

/** Names and what they are. Rows without a value are left out. */
export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** How much of a limit is used. */
export function Meter({ name, used, allowed, text }: { name: string; used: number; allowed: number; text: string }) {
  const share = allowed ? Math.min(1, used / allowed) : 0;
  const tone = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "";
  return (
    <span class={`meter ${tone}`}>
      <span class="name">{name}</span>
      <progress max={1} value={share} aria-label={`${name}: ${text}`} />
      <span class="figures">{text}</span>
    </span>
  );
}

interface TabsProps<T extends string> {
  label: string;
  options: readonly (readonly [T, string])[];
  chosen: T;
  choose: (option: T) => void;
}

/** One of a few views: buttons of which one is pressed. */
export function Choice<T extends string>({ label, options, chosen, choose }: TabsProps<T>) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button type="button" key={option} aria-pressed={option === chosen} onClick={() => choose(option)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** For `ref`: what appears takes the focus. */
export function focus(element: HTMLElement | null): void {
  element?.focus();
}

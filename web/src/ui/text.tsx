// Texts of others, exactly as they are, and values as JSON. All of it is text.
import { useState } from "preact/hooks";
import { get } from "../api";
import type { Text } from "../api/schema";
import { bytes } from "../time";
import { act } from "../tell";
import { Icon } from "./icon";

// Such as `stop[0]:evidence`, and `docs/stop[0].all_of[1]:promise` inside another one.
const UNNAMED = /^(?:[^[]+\/)?[\w-]+\[\d+\](?:\.\w+\[\d+\])*:(?=.)/;

/** A hook as people read its name: of one without a name, what it runs. */
export function hookName(hook: string): string {
  return hook.replace(UNNAMED, "");
}

interface Props {
  of: Text;
  label: string;
}

/** The exact bytes of a text, their number, and all of it if only the begin was sent. */
export function Exact({ of, label }: Props) {
  const [whole, setWhole] = useState<string | null>(null);
  const shown = whole ?? of.text;
  const load = () =>
    act(async () => {
      setWhole(await get<string>(of.path ?? ""));
      return "all of it is here";
    });
  return (
    <figure class="exact">
      <figcaption>
        {label} <span class="faint">{bytes(of.bytes)}</span>
        <button type="button" class="quiet small" onClick={() => navigator.clipboard.writeText(shown)} aria-label={`Copy: ${label}`}>
          <Icon name="copy" />
        </button>
      </figcaption>
      <pre tabIndex={0}>{shown}</pre>
      {of.cut && !of.path && <p class="faint">The rest of it is left out.</p>}
      {of.cut && of.path && whole === null && (
        <button type="button" class="quiet" onClick={load}>
          show all {bytes(of.bytes)}
        </button>
      )}
    </figure>
  );
}

/** A value as indented JSON; of a text, the text. */
export function Value({ of, label }: { of: unknown; label: string }) {
  if (of === null || of === undefined) return null;
  const text = typeof of === "string" ? of : JSON.stringify(of, null, 2);
  if (!text || text === "{}" || text === "[]") return null;
  return (
    <figure class="exact">
      <figcaption>{label}</figcaption>
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}

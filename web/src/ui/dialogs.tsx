// What lies over the page: the palette of everything one can go to or do, and the list of keys.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { SearchPage } from "../api/schema";
import { SHORTCUTS, dialog } from "../keys";
import { PLACES, addressOfHit } from "../places";
import { useAnswer } from "../query";
import { go } from "../router";
import { switchTheme } from "../theme";
import { useSettled } from "../pages/search";
import { Icon, type IconName } from "./icon";
import { mayDecide } from "./ways";

function Modal({ label, children }: { label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  const close = () => {
    dialog.value = null;
  };
  return (
    <dialog ref={box} aria-label={label} onClose={close} onClick={(event) => event.target === box.current && close()}>
      {children}
    </dialog>
  );
}

export function Dialogs() {
  if (dialog.value === "keys") return <Keys />;
  if (dialog.value === "palette") return <Palette />;
  return null;
}

function Keys() {
  return (
    <Modal label="Keys">
      <h2>Keys</h2>
      <dl class="keys">
        {SHORTCUTS.map((shortcut) => (
          <div key={shortcut.keys}>
            <dt>{shortcut.keys.split(/\s+/).map((key) => <kbd key={key}>{key}</kbd>)}</dt>
            <dd>{shortcut.says}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => { dialog.value = null; }}>Close</button>
    </Modal>
  );
}

interface Choice {
  key: string;
  icon: IconName;
  title: string;
  text: string;
  run: () => void;
}

const ACTIONS: (Choice & { decides?: boolean })[] = [
  { key: "start", icon: "plus", title: "Start a session", text: "", decides: true, run: () => go("#/sessions?start=1") },
  { key: "task", icon: "plus", title: "Add a task", text: "", decides: true, run: () => go("#/tasks?new=1") },
  { key: "theme", icon: "sun", title: "Dark or light", text: "", run: switchTheme },
  { key: "keys", icon: "keys", title: "Show the keys", text: "?", run: () => setTimeout(() => { dialog.value = "keys"; }) },
];

function Palette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const query = useSettled(text.trim());
  const { data } = useAnswer<SearchPage>(query ? `/api/search?q=${encodeURIComponent(query)}&limit=12` : null, () => false);
  const wanted = text.trim().toLowerCase();
  const own: Choice[] = [
    ...PLACES.map((place) => ({ key: place.page, icon: place.icon, title: place.title, text: `g ${place.key}`, run: () => go(`#/${place.page}`) })),
    ...ACTIONS.filter((each) => !each.decides || mayDecide()),
  ].filter((choice) => choice.title.toLowerCase().includes(wanted));
  const found = (data && query ? data.hits : []).flatMap((hit): Choice[] => {
    const address = addressOfHit(hit);
    return address ? [{ key: `${hit.kind} ${hit.id}`, icon: "right", title: `${hit.id} ${hit.title}`, text: hit.kind, run: () => go(address) }] : [];
  });
  const choices = [...own, ...found];
  const here = Math.min(at, choices.length - 1);
  const take = (choice: Choice | undefined) => {
    if (!choice) return;
    dialog.value = null;
    choice.run();
  };
  const keys = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      event.preventDefault();
      setAt((here + by + choices.length) % Math.max(1, choices.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(choices[here]);
    }
  };
  return (
    <Modal label="Go to, or do">
      <input
        class="palette"
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-choices"
        aria-activedescendant={choices.length ? `choice-${here}` : undefined}
        aria-label="Go to, or do"
        placeholder="Go to a page, a session, a task; or do something"
        onInput={(event) => { setText(event.currentTarget.value); setAt(0); }}
        onKeyDown={keys}
      />
      <ul id="palette-choices" role="listbox" aria-label="Choices">
        {choices.map((choice, index) => (
          <li key={choice.key} id={`choice-${index}`} role="option" aria-selected={index === here} onClick={() => take(choice)} onMouseMove={() => setAt(index)}>
            <Icon name={choice.icon} /> <span class="fill">{choice.title}</span> <span class="faint">{choice.text}</span>
          </li>
        ))}
      </ul>
      {!choices.length && <p class="faint">Nothing is called that.</p>}
    </Modal>
  );
}

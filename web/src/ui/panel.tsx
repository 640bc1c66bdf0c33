// What is open beside a list: a row in full. On a narrow screen it lies over the list.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bind } from "../keys";
import { go } from "../router";
import { Icon } from "./icon";

interface Props {
  title: ComponentChildren;
  label: string;
  /** Where the list is without it. */
  back: string;
  children: ComponentChildren;
  actions?: ComponentChildren;
}

export function Panel({ title, label, back, children, actions }: Props) {
  const box = useRef<HTMLElement>(null);
  const backTo = useRef(back);
  backTo.current = back;
  useEffect(() => bind("Escape", () => go(backTo.current)), []);
  useEffect(() => {
    // On a narrow screen the list is hidden: what is read begins here.
    if (matchMedia("(max-width: 899px)").matches) box.current?.focus();
  }, [label]);
  return (
    <section class="panel" aria-label={label} ref={box} tabIndex={-1}>
      <header>
        <a class="close" href={back} aria-label="Back to the list">
          <Icon name="left" />
        </a>
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </header>
      <div class="body">{children}</div>
    </section>
  );
}

// The frame of a page: its heading, what can be done, and a list with what is open beside it.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { visitor } from "./ways";

/** How much waits for a person: also to be seen in the title of a tab that nobody looks at. */
export const waitingCount = signal(0);

interface Props {
  title: string;
  children?: ComponentChildren;
  /** Beside the heading: filters, buttons. */
  tools?: ComponentChildren;
  /** What is open beside the list; on a narrow screen it hides the list. */
  beside?: ComponentChildren;
  under?: ComponentChildren;
}

export function Page({ title, children, tools, beside, under }: Props) {
  const waiting = waitingCount.value;
  const project = visitor.value?.project ?? "…";
  useEffect(() => {
    document.title = `${waiting ? `(${waiting}) ` : ""}${title} · ${project} · Hookline`;
  }, [title, waiting, project]);
  return (
    <>
      <header class="top">
        <h1 tabIndex={-1}>{title}</h1>
        {tools && <div class="tools">{tools}</div>}
      </header>
      {under}
      <div class={!beside ? "split" : children ? "split open" : "split only"}>
        {children && <div class="first">{children}</div>}
        {beside}
      </div>
    </>
  );
}

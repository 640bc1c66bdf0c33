// The frame of a page: its heading, what can be done, and a list with what is open beside it.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

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
  useEffect(() => {
    document.title = `${title} · Hookline`;
  }, [title]);
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

// A report in one file: the page's own parts, with the data that the file has. It asks nobody for
// anything, and decides nothing.
import { render } from "preact";
import { useLayoutEffect } from "preact/hooks";
import type { ReportFile } from "./api/schema";
import { ReportedSessionStory } from "./pages/report_session";
import { ReportedWork } from "./pages/report_work";
import "./theme";
import { Time } from "./ui/basics";

function Report({ of: { session, work, title, made, version } }: { of: ReportFile }) {
  useLayoutEffect(() => {
    dropDeadLinks();
    openTarget();
    addEventListener("hashchange", openTarget);
    addEventListener("beforeprint", openAll);
  }, []);
  return (
    <main class="report">
      {session && <ReportedSessionStory of={session} />}
      {work && <ReportedWork of={work} title={title} />}
      <footer class="faint">
        Hookline {version}, <Time at={made} as="full" />
      </footer>
    </main>
  );
}

function targetOf(fragment: string): HTMLElement | null {
  return document.getElementById(decodeURIComponent(fragment.slice(1)));
}

/** What is linked on the page may not be in this file: its name is then a name only. */
function dropDeadLinks(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("a[href^='#']")) {
    if (!targetOf(link.hash)) link.removeAttribute("href");
  }
}

function openTarget(): void {
  const target = targetOf(location.hash);
  if (target instanceof HTMLDetailsElement) target.open = true;
  target?.scrollIntoView();
}

function openAll(): void {
  for (const each of document.querySelectorAll("details")) each.open = true;
}

const data = document.getElementById("report");
const place = document.getElementById("page");
if (data?.textContent && place) render(<Report of={JSON.parse(data.textContent) as ReportFile} />, place);

// Around every page: where one can go, whether the page is current, what was said.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { AttentionPage } from "./api/schema";
import { bind, dialog } from "./keys";
import { PLACES } from "./places";
import { useAnswer } from "./query";
import { go, route } from "./router";
import { connection } from "./stream";
import { dismiss, notices } from "./tell";
import { switchTheme, theme } from "./theme";
import { utc, zone } from "./time";
import { Attention } from "./pages/attention";
import { EventAlone } from "./pages/event";
import { Hooks } from "./pages/hooks";
import { InsightsAlone } from "./pages/insights";
import { Pipeline } from "./pages/pipeline";
import { Run, Runs } from "./pages/runs";
import { Search } from "./pages/search";
import { Session } from "./pages/session";
import { Sessions } from "./pages/sessions";
import { Tasks } from "./pages/tasks";
import { Empty } from "./ui/basics";
import { Dialogs } from "./ui/dialogs";
import { Icon } from "./ui/icon";
import { Page, waitingCount } from "./ui/page";
import { visitor } from "./ui/ways";

export function Shell() {
  const main = useRef<HTMLElement>(null);
  const page = route.value.parts[0] ?? "";
  const subject = page === "sessions" || page === "runs" ? route.value.parts[1] : "";
  useLayoutEffect(() => {
    const unbind = [
      bind("/", () => go("#/search")),
      bind("?", () => {
        dialog.value = "keys";
      }),
      ...PLACES.map((place) => bind(`g ${place.key}`, () => go(`#/${place.page}`))),
    ];
    return () => unbind.forEach((each) => each());
  }, []);
  const isFirst = useRef(true);
  useEffect(() => {
    // Who goes to another page begins at its heading, also without seeing it.
    if (!isFirst.current && document.activeElement?.tagName !== "INPUT") main.current?.querySelector("h1")?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [page, subject]);
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>
        To the content
      </a>
      <Side page={page} />
      <main id="main" ref={main} tabIndex={-1}>
        <PageOf key={`${page}/${subject ?? ""}`} parts={route.value.parts} />
      </main>
      <Notices />
      <Dialogs />
    </div>
  );
}

function PageOf({ parts }: { parts: string[] }) {
  switch (parts[0]) {
    case "attention":
      return <Attention parts={parts} />;
    case "sessions":
      return parts[1] ? <Session parts={parts} /> : <Sessions />;
    case "tasks":
      return <Tasks parts={parts} />;
    case "pipeline":
      return <Pipeline parts={parts} />;
    case "runs":
      return parts[1] ? <Run parts={parts} /> : <Runs />;
    case "hooks":
      return <Hooks parts={parts} />;
    case "insights":
      return <InsightsAlone parts={parts} />;
    case "events":
      return <EventAlone parts={parts} />;
    case "search":
      return <Search />;
    default:
      return (
        <Page title="There is no such page">
          <Empty title="There is no such page">
            <a href="#/attention">Attention</a> is where everything begins.
          </Empty>
        </Page>
      );
  }
}

function Side({ page }: { page: string }) {
  const { data } = useAnswer<AttentionPage>("/api/attention");
  const waiting = data?.items.length ?? 0;
  useEffect(() => {
    waitingCount.value = waiting;
  }, [waiting]);
  return (
    <div class="side">
      <header>
        <p class="project">
          <svg class="logo" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" /><path d="M11 7v18M21 7v9a5 5 0 0 1-10 0" /></svg>
          <b title={visitor.value?.root}>{visitor.value?.project}</b>
        </p>
        <button type="button" class="find" onClick={() => { dialog.value = "palette"; }}>
          <Icon name="search" /> <span>Search or do</span> <kbd>Ctrl K</kbd>
        </button>
      </header>
      <nav aria-label="Pages">
        {PLACES.map((place) => (
          <a key={place.page} href={`#/${place.page}`} aria-current={place.page === page ? "page" : undefined}>
            <Icon name={place.icon} />
            <span>{place.title}</span>
            {place.page === "attention" && waiting > 0 && (
              <span class="count">
                {waiting}
                <span class="unseen"> waiting</span>
              </span>
            )}
          </a>
        ))}
      </nav>
      <Foot />
      <p class="unseen" role="status" aria-live="polite">
        {waiting > 0 ? `${waiting} waiting for you` : ""}
      </p>
    </div>
  );
}

const STATES = { live: "Live", connecting: "Connecting", lost: "Connection lost, trying again" };

function Foot() {
  const now = new Date().toISOString();
  return (
    <footer>
      <p class={`connection ${connection.value}`} role="status">
        <span class="bulb" aria-hidden="true" /> {STATES[connection.value]}
      </p>
      <p class="faint zone" title={`Now ${utc(now)}. Rest the pointer on a time to see it in UTC.`}>
        times in {zone()}
      </p>
      <div class="actions">
        <button type="button" class="quiet small" onClick={switchTheme} aria-label={theme.value === "dark" ? "Light" : "Dark"} title="Dark or light">
          <Icon name={theme.value === "dark" ? "sun" : "moon"} />
        </button>
        <button type="button" class="quiet small" onClick={() => { dialog.value = "keys"; }} aria-label="Keys" title="Keys: ?">
          <Icon name="keys" />
        </button>
      </div>
    </footer>
  );
}

function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map((notice) => (
        <div key={notice.id} class={notice.isBad ? "notice bad" : "notice"}>
          <Icon name={notice.isBad ? "bang" : "check"} />
          <div>
            <p>{notice.text}</p>
            {notice.help && <p class="faint">{notice.help}</p>}
          </div>
          <button type="button" class="quiet small" onClick={() => dismiss(notice.id)} aria-label="Dismiss">
            <Icon name="cross" />
          </button>
        </div>
      ))}
    </div>
  );
}

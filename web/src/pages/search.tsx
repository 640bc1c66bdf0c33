// Search over everything: tasks, sessions, runs, hooks, events.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Hit, SearchPage } from "../api/schema";
import { bind } from "../keys";
import { addressOfHit } from "../places";
import { useAnswer } from "../query";
import { replace, route, withOption } from "../router";
import { plural } from "../time";
import { Empty, Loading, Problem, Time } from "../ui/basics";
import { Icon, type IconName } from "../ui/icon";
import { List } from "../ui/list";
import { Page } from "../ui/page";

const ICONS: Record<string, IconName> = { task: "tasks", session: "sessions", run: "runs", hook: "hooks", event: "dot" };

/** A text that follows what one types, a little later. */
export function useSettled(text: string, ms = 150): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), ms);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

export function Search() {
  const [text, setText] = useState(route.value.options.get("q") ?? "");
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    field.current?.focus();
    return bind("/", () => field.current?.select());
  }, []);
  const query = useSettled(text.trim());
  useEffect(() => replace(withOption("q", query || null)), [query]);
  const { data, error } = useAnswer<SearchPage>(query ? `/api/search?q=${encodeURIComponent(query)}&limit=100` : null, () => false);
  return (
    <Page
      title="Search"
      tools={
        <label class="search-field">
          <Icon name="search" />
          <span class="unseen">Search for</span>
          <input type="search" value={text} ref={field} onInput={(event) => setText(event.currentTarget.value)} placeholder="A word, T-12, R-3, a hook, a file …" />
        </label>
      }
    >
      {error && <Problem of={error} />}
      {query && !data && !error && <Loading />}
      {!query && <Empty title="Search everything">Goals, sessions, runs, hooks, and the events of the log.</Empty>}
      {data && <p class="faint over-list" role="status">{data.hits.length ? plural(data.hits.length, "hit") : "Nothing was found"}{data.more ? ", and more: say it more exactly" : ""}</p>}
      {data && data.hits.length > 0 && (
        <List label="Hits" rows={data.hits} keyOf={(hit) => `${hit.kind} ${hit.id} ${hit.seq ?? ""}`} addressOf={addressOfHit} height={48}>
          {(hit) => <HitRow hit={hit} />}
        </List>
      )}
    </Page>
  );
}

export function HitRow({ hit }: { hit: Hit }) {
  return (
    <>
      <Icon name={ICONS[hit.kind] ?? "dot"} />
      <span class="two">
        <span class="over">
          <b>{hit.id}</b> <span class="fill">{hit.title}</span>
        </span>
        <span class="under fill">{hit.kind}{hit.text && ` · ${hit.text}`}</span>
      </span>
      <span class="col figures time-col"><Time at={hit.at} /></span>
    </>
  );
}

// Every hook: where it is from, how often it ran, how long it took, what it said last.
import type { HookPage, HookRow, HooksPage } from "../api/schema";
import { useAnswer } from "../query";
import { href } from "../router";
import { plural, took } from "../time";
import { Empty, Facts, Loading, Problem } from "../ui/basics";
import { Call, Why } from "../ui/calls";
import { List } from "../ui/list";
import { Page } from "../ui/page";
import { Panel } from "../ui/panel";
import { Status } from "../ui/status";
import { Playground } from "./playground";

export function Hooks({ parts }: { parts: string[] }) {
  const { data, error } = useAnswer<HooksPage>("/api/hooks");
  const chosen = parts[1] ?? null;
  return (
    <Page title="Hooks" beside={chosen ? <HookPanel key={chosen} name={chosen} /> : null}>
      {error && <Problem of={error} />}
      {!data && !error && <Loading />}
      {data && data.hooks.length === 0 && (
        <Empty title="No hook is configured" command="hookline points">
          At each point of the work Hookline calls the hooks that hookline.yaml lists there. This command lists the points:
        </Empty>
      )}
      {data && data.hooks.length > 0 && !chosen && (
        <p class="columns wide-only" aria-hidden="true">
          <span class="tally"><span>ok</span><span>skipped</span><span>failed</span></span>
          <span class="two-figures">took</span>
        </p>
      )}
      {data && data.hooks.length > 0 && (
        <List label="Hooks, in the order in which they are called" rows={data.hooks} keyOf={(row) => row.name} addressOf={(row) => href("hooks", row.name)} chosen={chosen} height={52}>
          {(row) => <Row row={row} />}
        </List>
      )}
    </Page>
  );
}

function stateOf(row: HookRow): string {
  if (row.heldBack) return "held back";
  if (!row.enabled) return "off";
  if (!row.calls) return "never called";
  return row.lastError ? "failed" : "ok";
}

function Row({ row }: { row: HookRow }) {
  return (
    <>
      <span class="col status-col">
        <Status is={stateOf(row)} label={stateOf(row) === "failed" ? "has failed" : stateOf(row)} />
      </span>
      <span class="two">
        <span class="over">
          <b>{row.label}</b> <span class="fill faint">{row.points.join(", ")}{row.when && ` · when ${row.when}`}</span>
        </span>
        <span class="under fill">{row.heldBack ?? row.lastError ?? row.origin}</span>
      </span>
      <Tally row={row} />
      <span class="col figures wide-only two-figures">
        {row.calls > row.skipped && (
          <>
            <span title="half of its calls were faster">p50 {took(row.p50Ms / 1000)}</span>
            <span class={row.slow ? "warn" : "faint"} title="19 of 20 calls were faster">p95 {took(row.p95Ms / 1000)}</span>
          </>
        )}
      </span>
    </>
  );
}

/** Its calls as a bar: how many were ok, skipped, failed. */
function Tally({ row }: { row: HookRow }) {
  const text = `${plural(row.calls, "call")}: ${row.ok} ok, ${row.skipped} skipped, ${row.failed} failed${row.pending ? `, ${row.pending} pending` : ""}${row.cut ? `, ${row.cut} cut` : ""}`;
  const share = (value: number) => ({ width: `${row.calls ? (100 * value) / row.calls : 0}%` });
  return (
    <span class="col tally wide-only" title={text}>
      <span class="unseen">{text}</span>
      <span class="figures" aria-hidden="true">
        <span>{row.ok}</span> <span class="faint">{row.skipped}</span> <span class={row.failed ? "bad" : "faint"}>{row.failed}</span>
      </span>
      <span class="bar-of" aria-hidden="true">
        <span class="good" style={share(row.ok)} />
        <span class="idle" style={share(row.skipped + row.pending + row.cut)} />
        <span class="bad" style={share(row.failed)} />
      </span>
    </span>
  );
}

function HookPanel({ name }: { name: string }) {
  const { data, error } = useAnswer<HookPage>(`/api/hooks/${encodeURIComponent(name)}`);
  return (
    <Panel label={`Hook ${name}`} title={<code>{data?.hook.label ?? name}</code>} back={href("hooks")}>
      {error && !data && <Problem of={error} />}
      {!data && !error && <Loading />}
      {data && <Body page={data} />}
    </Panel>
  );
}

function Body({ page }: { page: HookPage }) {
  const { hook } = page;
  return (
    <>
      {page.description && <p>{page.description}</p>}
      {hook.heldBack && <p class="problem">Held back: {hook.heldBack}</p>}
      <Facts
        rows={[
          ["points", hook.points.join(", ")],
          ["rule", hook.rule],
          ["kind", hook.kind],
          ["from", <code>{hook.origin}</code>],
          ["applies to", hook.owner],
          ["condition", hook.when && <code>{hook.when}</code>],
          ["calls", page.target && <code>{page.target}</code>],
          ["timeout", page.timeout === null ? null : took(page.timeout)],
          ["output", page.pipeOutput ? "is given to the agent" : null],
          ["on failure", page.onFailure],
          ["called", hook.calls ? `${hook.calls}: ${hook.ok} ok, ${hook.skipped} skipped, ${hook.failed} failed` : "never"],
          ["last error", hook.lastError && (hook.errorSeq === null ? hook.lastError : <a class="bad" href={href("events", hook.errorSeq)}>{hook.lastError}</a>)],
        ]}
      />
      <Why of={page.why} />
      {page.calls[0] && <Playground hook={hook} seq={page.calls[0].seq} />}
      {page.calls.length > 0 && (
        <section aria-label="Newest calls">
          <h3>Newest calls</h3>
          {page.calls.map((call) => (
            <Call key={call.id} call={call} />
          ))}
        </section>
      )}
    </>
  );
}

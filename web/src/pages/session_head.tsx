// What is known of a session: how it stands, what it used of its limits, what its agent will be told.
import type { SessionPage, UsedLimit } from "../api/schema";
import { href } from "../router";
import { count, money, took } from "../time";
import { Command, Facts, Meter, Time } from "../ui/basics";
import { Icon } from "../ui/icon";
import { Status, provenStatus } from "../ui/status";
import { Exact, hookName } from "../ui/text";
import { Ways } from "../ui/ways";

export function Head({ page }: { page: SessionPage }) {
  const { known, limits, ways } = page;
  const worked = page.iterations.reduce((sum, row) => sum + (row.seconds ?? 0), 0);
  return (
    <section class="head" aria-label="What is known of this session">
      <p class="goal">
        <Status is={provenStatus(known.status, page.unproven)} /> {known.goal}
      </p>
      {known.reason && <p class={known.status === "failed" || known.status === "escalated" ? "warn" : "faint"}>{known.reason}</p>}
      {page.unproven && <p class="warn">Not proven: {page.unproven}.</p>}
      {known.problem && (
        <p class="problem">
          {known.problem.message}. {known.problem.help}. <Command text={known.problem.command} />
        </p>
      )}
      {page.pruned && <p class="faint">Its details were pruned on <Time at={page.pruned} as="full" />.</p>}
      <Facts
        rows={[
          ["task", <a href={href("tasks", known.taskId)}>{known.taskId}</a>],
          ["run", <a href={href("runs", known.runId)}>{known.runId}</a>],
          ["agent", known.agent],
          ["started", <Time at={known.createdAt} />],
          ["at work", worked > 0 && took(worked)],
          ["until", known.until && <Time at={known.until} />],
          ["branch", known.branch && <code>{known.branch}</code>],
          ["spent", page.usd ? money(page.usd) : null],
          ["tokens", page.tokens ? count(page.tokens) : null],
        ]}
      />
      {limits.length > 0 && (
        <div class="meters" role="group" aria-label="Limits used">
          {limits.map((limit) => (
            <Meter key={limit.name} name={NAMES[limit.name] ?? limit.name.replaceAll("_", " ")} used={limit.used} allowed={limit.allowed} text={usage(limit)} />
          ))}
        </div>
      )}
      <Ways ways={ways} taskId={known.taskId} limits={raised(page)} />
      <Waits page={page} />
    </section>
  );
}

/** Of a session that used a limit up: twice as much of it, as the command line suggests. */
function raised({ known, limits }: SessionPage): Record<string, number> {
  const used = limits.find((limit) => limit.name === known.limit);
  return used && /^(iterations|minutes|usd|tokens)$/.test(used.name) ? { [used.name]: used.allowed * 2 } : {};
}

const NAMES: Record<string, string> = { usd: "money", no_change: "without a change" };

function usage({ name, used, allowed }: UsedLimit): string {
  const show = (value: number) => (name === "usd" ? money(value) : name === "minutes" ? `${Math.round(value)}m` : count(Math.round(value)));
  return `${show(used)} / ${show(allowed)}`;
}

/** What the agent has not been told yet. */
function Waits({ page }: { page: SessionPage }) {
  if (!page.held.length && !page.messages.length && !page.wants) return null;
  return (
    <details class="held">
      <summary>
        <Icon name="message" /> For the agent’s next prompt: {page.messages.length + page.held.length}
        {page.wants && `, and it is asked to ${page.wants}`}
      </summary>
      {page.messages.map((text, index) => (
        <Exact key={index} label="A person says" of={{ text, bytes: new Blob([text]).size, cut: false, path: null }} />
      ))}
      {page.held.map((held) => (
        <Exact key={held.eventSeq} label={`${hookName(held.hook)} at ${held.point}`} of={{ text: held.text, bytes: held.bytes, cut: false, path: null }} />
      ))}
    </details>
  );
}

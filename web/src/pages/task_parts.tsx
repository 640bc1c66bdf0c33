// What is told of a task wherever it is told: what proves it, what its gates said, what it cost.
import type { ComponentChildren } from "preact";
import type { GateRow, Proof, RoleCost, WholeCost } from "../api/schema";
import { href } from "../router";
import { count, money, plural, took } from "../time";
import { Facts, Time } from "../ui/basics";
import { Status } from "../ui/status";
import { Exact } from "../ui/text";

// What nothing has proven is said as loudly as a failure.
export const LOUD = new Set(["merged untested", "completed unproven"]);

/** A part under its title; `isTop` where it stands directly under the page's heading. */
export function Section({ title, children, isTop = false }: { title: string; children: ComponentChildren; isTop?: boolean }) {
  return (
    <section aria-label={title}>
      {isTop ? <h2>{title}</h2> : <h3>{title}</h3>}
      {children}
    </section>
  );
}

export function ProofLine({ of: proof }: { of: Proof }) {
  return (
    <p class="line-of">
      <Status is={proof.status} /> <b>{proof.check || "no gate"}</b>
      <span class="fill faint" title={proof.message}>{proof.point}{proof.message && ` · ${proof.message}`}</span>
      {proof.commit && <code class="faint" title={proof.commit}>{proof.commit.slice(0, 9)}</code>}
    </p>
  );
}

export function Gate({ gate }: { gate: GateRow }) {
  return (
    <details class="call">
      <summary>
        <Status is={gate.status} /> <b>{gate.gate}</b> <span class="faint">{gate.point}</span>
        <span class="fill faint">{gate.message}</span>
        {gate.ms !== null && <span class="figures">{took(gate.ms / 1000)}</span>}
      </summary>
      <Facts rows={[["said", gate.message && <span class="said">{gate.message}</span>], ["at", <Time at={gate.at} as="full" />], ["event", <a href={href("events", gate.seq)}>{gate.seq}</a>], ["answered", gate.answer]]} />
      {gate.comments.length > 0 && <ul>{gate.comments.map((comment, index) => <li key={index} class="said">{comment}</li>)}</ul>}
      {gate.remediation && <Exact of={gate.remediation} label="What the agent was asked to fix" />}
      {gate.output && gate.output.bytes > 0 && <Exact of={gate.output} label="Output" />}
    </details>
  );
}

/** What agents cost, by role, and all of them together if there are several. */
export function Costs({ of: cost, label = "What it cost" }: { of: WholeCost; label?: string }) {
  const all = cost.roles.length > 1 ? [...cost.roles, { ...cost, role: "all", agent: "", model: null }] : cost.roles;
  return (
    <div class="scrolls" role="region" aria-label={`${label}: table`} tabIndex={0}>
      <table class="figures-of">
        <thead>
          <tr>
            <th scope="col">role</th>
            <th scope="col">agent</th>
            {["turns", "time", "tokens in", "tokens out", "money"].map((name) => <th key={name} scope="col" class="number">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {all.map((each, index) => <Role key={index} of={each} />)}
        </tbody>
      </table>
      {cost.unfinished > 0 && <p class="faint">{plural(cost.unfinished, "turn")} under way or interrupted: counted as far as the agent reported.</p>}
    </div>
  );
}

function Role({ of: cost }: { of: RoleCost }) {
  const hasTokens = cost.inputTokens + cost.outputTokens > 0;
  return (
    <tr>
      <td>{cost.role}</td>
      <td>{cost.agent}{cost.model && ` (${cost.model})`}</td>
      <td class="number">{cost.turns}</td>
      <td class="number">{took(cost.seconds)}</td>
      <td class="number">{hasTokens && count(cost.inputTokens)}</td>
      <td class="number">{hasTokens && count(cost.outputTokens)}</td>
      <td class="number">{cost.usd !== null && money(cost.usd)}{cost.computed > 0 && ` (${cost.computed === cost.usd ? "" : `${money(cost.computed)} `}computed from tokens)`}</td>
    </tr>
  );
}

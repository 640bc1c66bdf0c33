// What a hook said at an event, and why it ran or did not.
import type { CallRow, Explanation } from "../api/schema";
import { href } from "../router";
import { plural, took } from "../time";
import { Command, Facts, Time } from "./basics";
import { Receipt, receiptIn } from "./receipt";
import { Status } from "./status";
import { Exact, Value } from "./text";

// Longer explanations are folded.
const SHOWN_STEPS = 4;

/** How a call ended. A feed's program may exit with what it likes; that it did is still news. */
export function CallStatus({ call }: { call: CallRow }) {
  const hasObjected = call.status === "ok" && Boolean(call.exitCode);
  return hasObjected ? <Status is="failed" label={`exit ${call.exitCode}`} /> : <Status is={call.status} />;
}

export function Call({ call, isOpen = false }: { call: CallRow; isOpen?: boolean }) {
  return (
    <details class="call" open={isOpen}>
      <summary>
        <CallStatus call={call} />
        <code>{call.name}</code>
        <span class="fill faint">{call.status === "skipped" && call.condition ? `when ${call.condition} is false` : call.error}</span>
        {call.ms !== null && <span class="figures">{took(call.ms / 1000)}</span>}
      </summary>
      <CallDetails call={call} />
    </details>
  );
}

export function CallDetails({ call }: { call: CallRow }) {
  const receipt = receiptIn(call.answer);
  return (
    <>
      <Facts
        rows={[
          ["hook", <a href={href("hooks", call.hook)}>{call.hook}</a>],
          ["from", <code>{call.origin}</code>],
          ["at", <>{call.point} · <a href={href("events", call.seq)}>event {call.seq}</a></>],
          ["started", <Time at={call.startedAt} as="second" />],
          ["exit code", call.exitCode === null ? null : String(call.exitCode)],
          ["attempts", call.attempts > 1 ? String(call.attempts) : null],
          ["condition", call.condition && <code>{call.condition}</code>],
          ["error", call.error && <span class="bad">{call.error}</span>],
        ]}
      />
      <Value of={call.conditionValues} label="Values of the condition" />
      {call.stdout && call.stdout.bytes > 0 && <Exact of={call.stdout} label="Printed" />}
      {call.stderr && call.stderr.bytes > 0 && <Exact of={call.stderr} label="Printed on stderr" />}
      {receipt && <Receipt of={receipt} />}
      <Value of={call.answer} label="Answer" />
      {call.actions.length > 0 && (
        <ul class="plain">
          {call.actions.map((action, index) => (
            <li key={index}>
              <Status is={action.status} label={action.type} /> <span class="bad">{action.error}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Why something is as it is: the sentence, the steps that led there, what to type. */
export function Why({ of }: { of: Explanation }) {
  if (!of.verdict && !of.steps.length) return null;
  return (
    <section class="why" aria-label="Why">
      <p>{of.verdict}</p>
      {of.steps.length > 0 && (
        <details open={of.steps.length <= SHOWN_STEPS}>
          <summary class="faint">{plural(of.steps.length, "step")} led there</summary>
          <table>
            <tbody>
              {of.steps.map((step, index) => (
                <tr key={index}>
                  <td class="faint"><code>{step.where}</code></td>
                  <td><code>{step.what}</code></td>
                  <td>{step.result}</td>
                  <td class="faint">{step.detail}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
      {of.hint && <p class="faint">{of.hint}</p>}
      {of.next && <Command text={of.next} />}
    </section>
  );
}

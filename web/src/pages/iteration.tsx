// One iteration in full: what the agent was told, to the byte, what it did, what hooks said, and
// what it changed.
import type { ChecksStep, IterationPage, IterationRow, PointStep, ToldStep, TurnStep } from "../api/schema";
import { useAnswer } from "../query";
import { href } from "../router";
import { count, money, plural, took } from "../time";
import { Facts, Loading, Problem, Time } from "../ui/basics";
import { Call, CallDetails, CallStatus } from "../ui/calls";
import { Diff } from "../ui/diff";
import { Icon } from "../ui/icon";
import { Panel } from "../ui/panel";
import { Status, StatusIcon } from "../ui/status";
import { Exact, hookName } from "../ui/text";
import { concerns } from "./session";
import { type Step, statusOfChecks, statusOfDecision, stepAt } from "./steps";

interface Props {
  run: string;
  chapter: number;
  /** The step that is open alone; all of them if it is null. */
  step: string | null;
  back: string;
  rows: IterationRow[];
}

export function IterationPanel({ run, chapter, step, back, rows }: Props) {
  const row = rows.find((each) => each.chapter === chapter);
  const isOver = Boolean(row?.ended) && chapter !== rows.at(-1)?.chapter;
  const path = `/api/sessions/${encodeURIComponent(run)}/iterations/${chapter}`;
  const { data, error } = useAnswer<IterationPage>(path, isOver ? () => false : concerns(run));
  const name = row?.iteration ? `Iteration ${row.iteration}` : "Between iterations";
  const only = data && step !== null ? stepAt(data, step) : null;
  return (
    <Panel
      label={name}
      title={<>{name} {only && <a class="faint" href={`${href("sessions", run, chapter)}?scale=turns`}>all of it</a>}</>}
      back={back}
      actions={data && <Around run={run} page={data} />}
    >
      {error && <Problem of={error} />}
      {!data && !error && <Loading />}
      {data && row && !only && <Summary row={row} page={data} />}
      {only?.call && <CallAlone call={only.call} />}
      {data && !only?.call && (
        <ol class="steps">
          {(only ? [only.step] : data.steps).map((each, index) => (
            <li key={index}>
              <StepView step={each} isOpen={only !== null} />
            </li>
          ))}
        </ol>
      )}
      {data?.diff && !only && (
        <section aria-label="What it changed">
          <h3>What it changed</h3>
          <Diff path={data.diff} of={String(row?.endSeq)} />
        </section>
      )}
    </Panel>
  );
}

function CallAlone({ call }: { call: Parameters<typeof CallDetails>[0]["call"] }) {
  return (
    <>
      <p>
        <CallStatus call={call} /> <b>{call.name}</b>
      </p>
      <CallDetails call={call} />
    </>
  );
}

function Around({ run, page }: { run: string; page: IterationPage }) {
  return (
    <>
      {page.previous !== null && (
        <a class="button quiet" href={href("sessions", run, page.previous)} aria-label="The iteration before">
          <Icon name="down" />
        </a>
      )}
      {page.next !== null && (
        <a class="button quiet" href={href("sessions", run, page.next)} aria-label="The iteration after">
          <Icon name="up" />
        </a>
      )}
    </>
  );
}

export function Summary({ row, page }: { row: IterationRow; page: IterationPage }) {
  return (
    <>
      {(row.error ?? row.reason) && <p class={row.error ? "bad" : ""}>{row.error ?? row.reason}</p>}
      <Facts
        rows={[
          ["decision", row.decision && <Status is={row.decision === "complete" && !row.checked ? "unproven" : row.decision} label={row.decision} />],
          ["by", row.hook && <a href={href("hooks", row.hook)}>{hookName(row.hook)}</a>],
          ["began", <Time at={row.began} as="full" />],
          ["took", row.seconds === null ? null : took(row.seconds)],
          ["checks", row.rules ? `${row.passed} of ${row.rules} passed` : null],
          ["tools", row.tools ? String(row.tools) : null],
          ["tokens", row.tokens ? count(row.tokens) : null],
          ["money", row.usd ? money(row.usd) : null],
          ["files", page.ended?.filesModified.length ? page.ended.filesModified.join(", ") : null],
        ]}
      />
    </>
  );
}

export function StepView({ step, isOpen }: { step: Step; isOpen: boolean }) {
  switch (step.kind) {
    case "turn":
      return <Turn step={step} />;
    case "checks":
      return <Checks step={step} />;
    case "point":
      return <Point step={step} isOpen={isOpen} />;
    case "told":
      return <Told step={step} />;
  }
}

function Turn({ step }: { step: TurnStep }) {
  const figures = [
    step.seconds !== null && took(step.seconds),
    step.tools > 0 && plural(step.tools, "tool"),
    step.tokens > 0 && `${count(step.tokens)} tok`,
    step.usd !== null && money(step.usd),
  ].filter(Boolean);
  return (
    <article class="step turn">
      <h3>
        <StatusIcon is={step.error ? "failed" : step.endSeq === null ? "running" : "ok"} says /> Turn of the agent
        <span class="faint"> {figures.join(" · ")}</span> <Time at={step.at} as="second" />
      </h3>
      {step.error && <p class="bad">{step.error}</p>}
      <details>
        <summary>
          Prompt <span class="faint">{count(step.prompt.bytes)} bytes, as the agent got them</span>
        </summary>
        <Exact of={step.prompt} label="Prompt" />
      </details>
      {step.used.length > 0 && (
        <details>
          <summary>Tools <span class="faint">{step.used.length}</span></summary>
          <ol class="plain tools-used">
            {step.used.map((tool, index) => (
              <li key={index}>
                <StatusIcon is={tool.ok === null ? "idle" : tool.ok ? "ok" : "failed"} says />
                <code>{tool.name}</code>
                <span class="fill faint">{tool.detail}</span>
                {tool.seconds !== null && <span class="figures">{took(tool.seconds)}</span>}
              </li>
            ))}
          </ol>
        </details>
      )}
      {step.text.bytes > 0 && <Exact of={step.text} label="What it said" />}
    </article>
  );
}

function Checks({ step }: { step: ChecksStep }) {
  return (
    <article class="step">
      <h3>
        <StatusIcon is={statusOfChecks(step)} says /> Validation
        <span class="faint"> {step.results.length ? step.seconds !== null && took(step.seconds) : "no rule is configured"}</span>
      </h3>
      <ul class="plain">
        {step.results.map((rule, index) => (
          <li key={index} class="rule">
            <Status is={rule.passed ? "passed" : "failed"} /> <b>{rule.ruleName}</b> {rule.command && <code>{rule.command}</code>}
            {rule.message && <pre class="said">{rule.message}</pre>}
          </li>
        ))}
      </ul>
    </article>
  );
}

function Point({ step, isOpen }: { step: PointStep; isOpen: boolean }) {
  return (
    <article class="step">
      <h3>
        <code>{step.point}</code>
        {step.decision && <Status is={statusOfDecision(step.decision.action)} label={step.decision.action} />}
        <Time at={step.at} as="second" />
      </h3>
      {step.decision?.reason && <p>{step.decision.reason}</p>}
      {step.calls.map((call) => (
        <Call key={call.id} call={call} isOpen={isOpen && step.calls.length === 1} />
      ))}
      {step.decision?.nextPrompt && (
        <Exact of={{ text: step.decision.nextPrompt, bytes: new Blob([step.decision.nextPrompt]).size, cut: false, path: null }} label="The next prompt begins with" />
      )}
    </article>
  );
}

function Told({ step }: { step: ToldStep }) {
  return (
    <article class="step">
      <h3>
        <Icon name="message" /> {step.title} <Time at={step.at} as="second" />
      </h3>
      {step.text.bytes > 0 && <Exact of={step.text} label="Text" />}
    </article>
  );
}

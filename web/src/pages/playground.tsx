// Try another condition on a recorded event. Nothing runs: it is only asked what it would say.
import { useState } from "preact/hooks";
import { Refused, send } from "../api";
import type { HookRow, Tried } from "../api/schema";
import { href } from "../router";
import { Button, Facts } from "../ui/basics";
import { Status } from "../ui/status";
import { Value } from "../ui/text";

export function Playground({ hook, seq }: { hook: HookRow; seq: number }) {
  const [when, setWhen] = useState(hook.when ?? "");
  const [event, setEvent] = useState(String(seq));
  const [tried, setTried] = useState<Tried | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const ask = async () => {
    setProblem(null);
    try {
      setTried(await send<Tried>("/api/playground", { when, seq: Number(event), hook: hook.name }));
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setTried(null);
      setProblem([refused.message, refused.help].filter(Boolean).join(" "));
    }
  };
  return (
    <section class="playground" aria-label="Try a condition">
      <h3>Try a condition</h3>
      <form class="form" onSubmit={(submitted) => { submitted.preventDefault(); void ask(); }}>
        <label>
          when
          <textarea rows={2} class="code" spellcheck={false} value={when} onInput={(input) => setWhen(input.currentTarget.value)} placeholder={'changed("src/**") and task_type == "text"'} />
        </label>
        <div class="row-of">
          <label>
            at event
            <input type="number" min="1" value={event} onInput={(input) => setEvent(input.currentTarget.value)} />
          </label>
          <div class="actions">
            <Button onClick={ask} disabled={!when.trim() || !event}>Try it</Button>
          </div>
        </div>
      </form>
      <div role="status">
        {problem && <p class="bad">{problem}</p>}
        {tried?.problem && <p class="bad">{tried.problem}</p>}
        {tried && !tried.problem && (
          <p>
            <Status is={tried.result === null ? "unknown" : String(tried.result)} label={tried.result === null ? "cannot be told without asking a program" : tried.result ? "true: the hook would run" : "false: it would be skipped"} />
          </p>
        )}
        {tried && (
          <>
            <Facts rows={[["event", <a href={href("events", tried.seq)}>{tried.seq}</a>], ["point", tried.point], ["recorded", tried.recorded]]} />
            <Value of={tried.values} label="Values" />
          </>
        )}
      </div>
      <p class="faint">No program runs, and nothing is recorded.</p>
    </section>
  );
}

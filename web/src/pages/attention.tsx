// What waits for a person: why, since when, what it is about, and what to press.
import { useSignal } from "@preact/signals";
import type { AttentionPage, LineComment, WaitingItem } from "../api/schema";
import { useAnswer } from "../query";
import { go, href } from "../router";
import { plural } from "../time";
import { Command, Empty, Facts, Loading, Problem, Time } from "../ui/basics";
import { Diff } from "../ui/diff";
import { Icon, type IconName } from "../ui/icon";
import { List } from "../ui/list";
import { Page } from "../ui/page";
import { Panel } from "../ui/panel";
import { hookName } from "../ui/text";
import { Ways, limitsIn, mayDecide } from "../ui/ways";

const ICONS: Record<string, IconName> = {
  gate: "pipeline", gates: "pipeline", breakpoint: "message", session: "sessions", limit: "clock",
  task: "tasks", run: "runs", hook: "hooks", hooks: "hooks", merge: "pipeline",
};

export function Attention({ parts }: { parts: string[] }) {
  const { data, error } = useAnswer<AttentionPage>("/api/attention");
  const key = parts[1] ?? null;
  // Who asks a question holds work up until it is answered.
  const items = data ? [...data.items].sort((one, other) => Number(!one.question) - Number(!other.question)) : [];
  const isWide = matchMedia("(min-width: 900px)").matches;
  const chosen = items.find((item) => item.key === key) ?? (isWide && !key ? items[0] : undefined);
  const count = items.length;
  return (
    <Page
      title="Attention"
      tools={data && <p class="faint" role="status">{count ? `${plural(count, "thing")} ${count === 1 ? "waits" : "wait"} for you` : "nothing waits for you"}</p>}
      beside={chosen ? <Waiting key={chosen.key} item={chosen} /> : key && data ? <Decided /> : null}
    >
      {error && <Problem of={error} />}
      {!data && !error && <Loading />}
      {data && count === 0 && (
        <Empty title="Nothing waits for you" command="hookline run &quot;fix the flaky login test&quot;">
          Here is what needs a person: work at a gate, a question of a flow, a session that reached a limit, a hook that
          fails. Agents go on meanwhile. Start one:
        </Empty>
      )}
      {data && count > 0 && (
        <List
          label="What waits for you"
          rows={items}
          keyOf={(item) => item.key}
          addressOf={(item) => href("attention", item.key)}
          chosen={chosen?.key ?? null}
          height={56}
        >
          {(item) => <Row item={item} />}
        </List>
      )}
    </Page>
  );
}

/** What waits, in a word: its task, its session, its run; else as the command line calls it. */
function nameOf(item: WaitingItem): string {
  return item.taskId ?? item.session ?? item.runId ?? item.id;
}

function Row({ item }: { item: WaitingItem }) {
  return (
    <>
      <span class="mark warn">
        <Icon name={ICONS[item.kind] ?? "attention"} />
      </span>
      <span class="two">
        <span class="over">
          <b>{nameOf(item)}</b> <span class="fill">{item.goal ?? item.kind.replaceAll("_", " ")}</span>
          <Time at={item.since} />
        </span>
        <span class="under fill">{item.question?.text ?? item.message}</span>
      </span>
    </>
  );
}

function Waiting({ item }: { item: WaitingItem }) {
  const comments = useSignal<LineComment[]>([]);
  const mayReject = mayDecide() && item.ways.some((way) => way.verb === "reject");
  const text = item.question?.text ?? item.message;
  return (
    <Panel
      label={`${item.kind}: ${item.id}`}
      title={<>{nameOf(item)} <span class="faint">{item.goal ?? item.kind.replaceAll("_", " ")}</span></>}
      back={href("attention")}
    >
      <p class="question">{text}</p>
      <Ways ways={item.ways} question={item.question} comments={comments} taskId={item.taskId} limits={limitsIn(item.command)} done={() => go(href("attention"))} />
      <Facts
        rows={[
          ["waits since", <Time at={item.since} as="full" />],
          ["why", text !== item.message ? item.message : null],
          ["kind", item.kind.replaceAll("_", " ")],
          ["gate", item.question?.hook && <>{hookName(item.question.hook)} at {item.question.point}</>],
          ["commit", item.question?.head && <code>{item.question.head.slice(0, 12)}</code>],
          ["task", item.taskId && <a href={href("tasks", item.taskId)}>{item.taskId}</a>],
          ["session", item.runId && item.session && <a href={href("sessions", item.runId)}>{item.session}</a>],
          ["run", item.runId && !item.session && <a href={href("runs", item.runId)}>{item.runId}</a>],
          ["event", item.seq !== null && <a href={href("events", item.seq)}>{item.seq}</a>],
          ["or type", <Command text={item.command} />],
        ]}
      />
      {item.diff && <Diff path={item.diff} of={item.question?.head ?? item.key} {...(mayReject ? { comments } : {})} />}
    </Panel>
  );
}

function Decided() {
  return (
    <Panel label="Decided" title="This no longer waits" back={href("attention")}>
      <p>It was decided, or what it waited for has happened.</p>
      <a href={href("attention")}>What waits now</a>
    </Panel>
  );
}

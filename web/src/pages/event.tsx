// One event of the log: what it says, what its hooks saw and said, and what it caused.
import type { EventPage } from "../api/schema";
import { useAnswer } from "../query";
import { href } from "../router";
import { Facts, Loading, Problem, Time } from "../ui/basics";
import { Call, Why } from "../ui/calls";
import { Page } from "../ui/page";
import { Panel } from "../ui/panel";
import { Value } from "../ui/text";
import { addressOfNode } from "../places";

export function EventPanel({ seq, back }: { seq: number; back: string }) {
  const { data, error } = useAnswer<EventPage>(`/api/events/${seq}`, () => false);
  return (
    <Panel label={`Event ${seq}`} title={<>Event {seq} <span class="faint">{data?.event.type}</span></>} back={back}>
      {error && <Problem of={error} />}
      {!data && !error && <Loading />}
      {data && <Body page={data} />}
    </Panel>
  );
}

export function EventAlone({ parts }: { parts: string[] }) {
  return (
    <Page title={`Event ${parts[1] ?? ""}`} beside={<EventPanel seq={Number(parts[1])} back={href("search")} />} />
  );
}

function Body({ page: { event, payload, calls, caused, why } }: { page: EventPage }) {
  const address = addressOfNode(event.nodeId);
  return (
    <>
      <Facts
        rows={[
          ["at", <Time at={event.timestamp} as="full" />],
          ["of", address ? <a href={address}>{event.nodeId}</a> : event.nodeId],
          ["id", <code>{event.id}</code>],
        ]}
      />
      <Why of={why} />
      {calls.length > 0 && (
        <section aria-label="Hooks">
          <h3>Hooks</h3>
          {calls.map((call) => (
            <Call key={call.id} call={call} isOpen={calls.length === 1} />
          ))}
        </section>
      )}
      {caused.length > 0 && (
        <section aria-label="What it caused">
          <h3>What it caused</h3>
          <ul class="plain">
            {caused.map((row) => (
              <li key={row.seq}>
                <a href={href("events", row.seq)}>{row.seq} {row.type}</a> <span class="faint">{row.text}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Value of={event.data} label="Data" />
      <Value of={event.metadata} label="Metadata" />
      <Value of={payload} label="Payload: what its hooks receive" />
    </>
  );
}

// Where the page begins: the token, who looks, the stream; then the shell.
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useState } from "preact/hooks";
import { Refused, get } from "./api";
import type { Visitor } from "./api/schema";
import { Shell } from "./shell";
import { connection, follow } from "./stream";
import "./theme";
import { keepToken, readToken, token } from "./token";
import { Button, Problem, focus } from "./ui/basics";
import { visitor } from "./ui/ways";

const failed = signal<Refused | null>(null);
let isFollowing = false;

async function begin(): Promise<void> {
  failed.value = null;
  try {
    const found = await get<Visitor>("/api/me");
    visitor.value = found;
    if (!isFollowing) follow(found.seq);
    isFollowing = true;
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    failed.value = problem;
    if (problem.status === 0) setTimeout(() => void begin(), 1500);
  }
}

function Root() {
  if (visitor.value && token.value) return <Shell />;
  return (
    <main class="door">
      <h1>Hookline</h1>
      {failed.value && <Problem of={failed.value} />}
      {!token.value && <Door />}
    </main>
  );
}

function Door() {
  const [text, setText] = useState("");
  const enter = () => keepToken(/token=([^&]+)/.exec(text)?.[1] ?? text.trim());
  return (
    <form class="form" onSubmit={(event) => { event.preventDefault(); enter(); }}>
      <p>
        This page opens with a token. Open the address that <code>hookline serve</code> printed, or put it in here.
      </p>
      <label>
        Address or token
        <input type="password" autocomplete="off" ref={focus} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="actions">
        <Button kind="main" onClick={enter} disabled={!text.trim()}>
          Open
        </Button>
      </div>
    </form>
  );
}

readToken();
effect(() => {
  if (token.value) void begin();
});

/** After the server was away: another version has another page, another store other rows. */
async function check(): Promise<void> {
  const found = await get<Visitor>("/api/me").catch(() => null);
  const known = visitor.value;
  if (found && known && (found.version !== known.version || found.store !== known.store)) location.reload();
}

let wasLost = false;
effect(() => {
  if (connection.value === "live" && wasLost) void check();
  wasLost = connection.value === "lost";
});
const place = document.getElementById("page");
if (place) render(<Root />, place);

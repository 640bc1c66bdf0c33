// The token of this page: read once from the address, kept for this tab alone, never in a cookie.
// A tab that was opened by a link has none: it asks the other tabs of this page.
import { signal } from "@preact/signals";

const KEY = "hookline-token";
const channel = new BroadcastChannel("hookline-token");

export const token = signal<string | null>(null);

/** Take the token out of the address bar; what is left of the fragment is the route. */
function fromAddress(): string | null {
  const found = /(^#?|[&?])token=([^&]*)/.exec(location.hash);
  if (!found) return null;
  const rest = location.hash.replace(found[0], "").replace(/^#?[&?]?(to=)?/, "");
  history.replaceState(null, "", `${location.pathname}#${rest || "/"}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
  return decodeURIComponent(found[2] ?? "");
}

export function keepToken(value: string): void {
  sessionStorage.setItem(KEY, value);
  token.value = value;
  channel.postMessage({ token: value });
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEY);
  token.value = null;
}

channel.onmessage = (message: MessageEvent<{ token?: string; asks?: boolean }>) => {
  const given = message.data.token;
  if (message.data.asks && token.value) channel.postMessage({ token: token.value });
  else if (given && !token.value) {
    sessionStorage.setItem(KEY, given);
    token.value = given;
  }
};

export function readToken(): void {
  const given = fromAddress();
  if (given) return keepToken(given);
  token.value = sessionStorage.getItem(KEY);
  if (!token.value) channel.postMessage({ asks: true });
}

// A link with a token, opened in a tab that has this page already.
addEventListener("hashchange", () => {
  const given = fromAddress();
  if (given) keepToken(given);
});

// Dark or light: as the system wants it, unless a person says otherwise.
import { effect, signal } from "@preact/signals";

export type Theme = "dark" | "light";
const KEY = "hookline-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal<string | null>(stored());
/** A file that is shown in a frame of its own has no storage. */
function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

const isDark = signal(system.matches);
system.addEventListener("change", () => {
  isDark.value = system.matches;
});

export const theme = signal<Theme>("light");
effect(() => {
  const own = chosen.value === "dark" || chosen.value === "light" ? chosen.value : null;
  theme.value = own ?? (isDark.value ? "dark" : "light");
  document.documentElement.dataset.theme = theme.value;
});

export function switchTheme(): void {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(KEY, chosen.value);
}

// Pictures as paths: their shape says what their colour says, too.
const PATHS = {
  check: "M3.5 8.5l3 3 6-7",
  cross: "M4 4l8 8M12 4l-8 8",
  dot: "M8 6.8a1.2 1.2 0 1 0 0 2.4a1.2 1.2 0 0 0 0-2.4z",
  ring: "M8 2.5a5.5 5.5 0 1 1-5.5 5.5",
  pause: "M6 4v8M10 4v8",
  clock: "M8 4.5V8l2.5 1.5M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z",
  skip: "M4 8h8",
  bang: "M8 3.5v5.5M8 12.2v.1",
  attention: "M8 2.5a4 4 0 0 0-4 4V9l-1.2 2.2h10.4L12 9V6.5a4 4 0 0 0-4-4zM6.6 13.2a1.5 1.5 0 0 0 2.8 0",
  sessions: "M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3",
  tasks: "M2.5 4l1 1 1.8-2M2.5 8.5l1 1 1.8-2M2.5 13l1 1 1.8-2M8 4h5.5M8 8.5h5.5M8 13h5.5",
  pipeline: "M4 3.5v9M4 8h4a4 4 0 0 0 4-4M4 3.5v.01M12 3.5v.01M4 12.5v.01",
  runs: "M5 3.5l7 4.5-7 4.5z",
  hooks: "M6 2.5v7.2a2.8 2.8 0 0 0 5.6 0V7M11.6 7l-2 2M11.6 7l2 2",
  insights: "M2.5 13.5h11M4.5 11V7.5M8 11V3.5M11.5 11V6",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7L14 14",
  plus: "M8 3v10M3 8h10",
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  left: "M10 3L5 8l5 5",
  right: "M6 3l5 5-5 5",
  copy: "M5.5 5.5V3h7.5v7.5h-2.5M3 5.5h7.5V13H3z",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  agent: "M3 5.5h10v7H3zM8 5.5V3M6 8.5v1M10 8.5v1",
  message: "M2.5 3.5h11v8h-6l-3 2.5v-2.5h-2z",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  keys: "M2 4.5h12v7H2zM4.5 7h.01M7 7h.01M9.5 7h.01M12 7h.01M5 9.5h6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, spins = false }: { name: IconName; spins?: boolean }) {
  return (
    <svg class={spins ? "icon spins" : "icon"} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

// The fields of a task, to add one or to change it.
import { useState } from "preact/hooks";
import type { TaskGiven } from "../api/schema";
import { Button, focus } from "../ui/basics";
import { visitor } from "../ui/ways";

export interface Fields {
  goal: string;
  type: string;
  labels: string;
  priority: string;
  dependsOn: string;
  parent: string;
}

interface Props {
  label: string;
  start: Partial<Fields>;
  isBusy?: boolean;
  save: (given: TaskGiven) => Promise<void>;
}

const EMPTY: Fields = { goal: "", type: "", labels: "", priority: "", dependsOn: "", parent: "" };

export function words(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

export function TaskForm({ label, start, isBusy = false, save }: Props) {
  const [fields, setFields] = useState<Fields>({ ...EMPTY, ...start });
  const set = (name: keyof Fields) => (event: { currentTarget: { value: string } }) => {
    const { value } = event.currentTarget;
    setFields((old) => ({ ...old, [name]: value }));
  };
  const give = () =>
    save({
      goal: fields.goal.trim(),
      type: fields.type || null,
      labels: fields.labels.split(",").map((each) => each.trim()).filter(Boolean),
      priority: fields.priority ? Number(fields.priority) : null,
      dependsOn: words(fields.dependsOn),
      parent: fields.parent.trim() || null,
    });
  return (
    <form class="form" onSubmit={(event) => event.preventDefault()}>
      <label>
        Goal
        <textarea rows={4} ref={focus} value={fields.goal} onInput={set("goal")} placeholder="What should be true when it is done" />
      </label>
      <div class="row-of">
        <label>
          Type
          <select value={fields.type} onChange={set("type")}>
            <option value="">none</option>
            {visitor.value?.types.map((type) => (
              <option key={type} value={type}>
                {type}
              </option>
            ))}
          </select>
        </label>
        <label>
          Priority, 0 first
          <input type="number" min="0" max="4" value={fields.priority} onInput={set("priority")} placeholder="2" />
        </label>
      </div>
      <label>
        Labels, with commas
        <input type="text" value={fields.labels} onInput={set("labels")} />
      </label>
      <div class="row-of">
        <label>
          Depends on
          <input type="text" value={fields.dependsOn} onInput={set("dependsOn")} placeholder="T-3 T-7" />
        </label>
        <label>
          Part of
          <input type="text" value={fields.parent} onInput={set("parent")} placeholder="T-1" />
        </label>
      </div>
      <div class="actions">
        <Button kind="main" onClick={give} disabled={isBusy || !fields.goal.trim()}>
          {label}
        </Button>
      </div>
    </form>
  );
}

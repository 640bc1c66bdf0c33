// What work changes, file by file. Where a person may send it back, a line takes a comment.
import { type Signal, useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { DiffFile, DiffLine, DiffPage, LineComment } from "../api/schema";
import { useAnswer } from "../query";
import { plural } from "../time";
import { Loading, Problem, focus } from "./basics";
import { Icon } from "./icon";

// Longer files are folded, and of very long ones the begin is shown.
const FOLDED = 400;
const SHOWN = 1500;

export type Comments = Signal<LineComment[]>;

export function Counts({ added, removed }: { added: number | null; removed: number | null }) {
  if (added === null && removed === null) return <span class="faint">binary</span>;
  return (
    <span class="counts">
      <span class="added">+{added ?? 0}</span> <span class="removed">−{removed ?? 0}</span>
    </span>
  );
}

interface Props {
  path: string;
  /** The state that the diff is of: it is asked for again when that is another one. */
  of: string;
  comments?: Comments;
}

export function Diff({ path, of, comments }: Props) {
  const { data, error, isLoading } = useAnswer<DiffPage>(`${path}#${encodeURIComponent(of)}`, () => false);
  if (error) return <Problem of={error} />;
  if (!data || isLoading) return <Loading />;
  return <DiffView of={data} comments={comments} />;
}

export function DiffView({ of: data, comments }: { of: DiffPage; comments?: Comments | undefined }) {
  if (data.unknown) return <p class="faint">What it changes cannot be told: {data.unknown}.</p>;
  if (!data.files.length) return <p class="faint">No file differs.</p>;
  return (
    <div class="diff">
      <p class="summary">
        {plural(data.files.length, "file")} <Counts added={data.added} removed={data.removed} />
        {comments && <span class="faint"> · press a line’s number to comment on it</span>}
      </p>
      {data.files.map((file) => (
        <File key={file.path} file={file} comments={comments} />
      ))}
      {data.cut && <p class="faint">The diff is longer than what is shown here.</p>}
    </div>
  );
}

function File({ file, comments }: { file: DiffFile; comments: Comments | undefined }) {
  const lines = file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  const [isWhole, setWhole] = useState(false);
  let left = isWhole ? Number.POSITIVE_INFINITY : SHOWN;
  return (
    <details class="file" open={lines <= FOLDED}>
      <summary>
        <span class={`change ${file.status}`} title={file.status}>
          {file.status.slice(0, 1).toUpperCase()}
        </span>
        <code>{file.oldPath && file.oldPath !== file.path ? `${file.oldPath} → ${file.path}` : file.path}</code>
        <Counts added={file.added} removed={file.removed} />
      </summary>
      {!file.hunks.length && <p class="faint">Its content is not shown: it is not text, or nothing in it differs.</p>}
      <div class="lines" role="region" aria-label={`Lines of ${file.path}`} tabIndex={0}>
        {file.hunks.map((hunk) => {
          const shown = hunk.lines.slice(0, Math.max(0, left));
          left -= hunk.lines.length;
          return (
            shown.length > 0 && (
              <div class="hunk" key={hunk.header}>
                <div class="line header">{hunk.header}</div>
                {shown.map((line, index) => (
                  <Line key={index} line={line} path={file.path} comments={comments} />
                ))}
              </div>
            )
          );
        })}
      </div>
      {left < 0 && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          show all {lines.toLocaleString("en")} lines
        </button>
      )}
    </details>
  );
}

const SIGNS = { added: "+", removed: "−", same: " " } as const;

function Line({ line, path, comments }: { line: DiffLine; path: string; comments: Comments | undefined }) {
  const [isWriting, setWriting] = useState(false);
  const [draft, setDraft] = useState<LineComment | null>(null);
  const side = line.kind === "removed" ? "old" : "new";
  const number = side === "old" ? line.old : line.new;
  const own = comments?.value.filter((each) => each.path === path && each.line === number && each.side === side && each !== draft) ?? [];
  // What was written is sent with the others, also if nobody pressed the button for it.
  const keep = (text: string) => {
    if (!comments || number === null) return;
    const kept: LineComment | null = text ? { path, line: number, side, text } : null;
    comments.value = [...comments.value.filter((each) => each !== draft), ...(kept ? [kept] : [])];
    setDraft(kept);
  };
  const numbers = (
    <>
      <span class="number">{line.old ?? ""}</span>
      <span class="number">{line.new ?? ""}</span>
    </>
  );
  return (
    <>
      <div class={`line ${line.kind}`}>
        {comments && number !== null ? (
          <button type="button" class="numbers" onClick={() => setWriting(true)} aria-label={`Comment on line ${number} of ${path}`}>
            {numbers}
          </button>
        ) : (
          <span class="numbers">{numbers}</span>
        )}
        <span class="sign">{SIGNS[line.kind]}</span>
        <code>{line.text}</code>
      </div>
      {comments && own.map((comment) => <Said key={comment.text} comment={comment} comments={comments} />)}
      {comments && isWriting && number !== null && (
        <Writing
          keep={keep}
          done={() => {
            setDraft(null);
            setWriting(false);
          }}
        />
      )}
    </>
  );
}

function Said({ comment, comments }: { comment: LineComment; comments: Comments }) {
  const remove = () => {
    comments.value = comments.value.filter((each) => each !== comment);
  };
  return (
    <div class="comment">
      <Icon name="message" />
      <p>{comment.text}</p>
      <button type="button" class="quiet small" onClick={remove} aria-label="Remove this comment">
        <Icon name="cross" />
      </button>
    </div>
  );
}

function Writing({ keep, done }: { keep: (text: string) => void; done: () => void }) {
  const text = useSignal("");
  const save = (said: string) => {
    keep(said);
    done();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      save("");
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save(text.value.trim());
  };
  return (
    <div class="comment writing">
      <textarea
        rows={2}
        aria-label="Your comment"
        placeholder="What should be different here? The agent is told."
        ref={focus}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
        onKeyDown={keys}
        onBlur={() => keep(text.value.trim())}
      />
      <div class="actions">
        <button type="button" class="main" onClick={() => save(text.value.trim())}>
          Add comment
        </button>
        <button type="button" class="quiet" onClick={() => save("")}>
          Cancel
        </button>
      </div>
    </div>
  );
}

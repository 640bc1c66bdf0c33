// Written by `python -m docs.generate` from the Python types: do not edit.

/** An action that a hook asked for, and what became of it. */
export interface ActionRow {
  type: string;
  status: string;
  error: string | null;
  payload: unknown;
}

/** A sentence of advice, and which facts of a table it is about. */
export interface Advice {
  text: string;
  table: string;
  match: Record<string, string>;
}

/** An agent that a session can be started with. */
export interface AgentChoice {
  name: string;
  driver: string;
  usual: boolean;
}

/** Why an agent cannot work until a person has repaired something. `message` says what is wrong and `help` what to do about it, each a sentence without its full stop. `command` is what to type, where a command repairs it. */
export interface AgentProblem {
  kind: "credit" | "key" | "login" | "missing" | "model" | "outdated" | "sandbox";
  message: string;
  help: string;
  command: string;
}

/** The answer to a breakpoint. */
export interface AnswerGiven {
  effectId: string;
  answer: boolean;
  note?: string | null;
}

/** An approval; `head` is the commit that the person saw, if the gate asked about one. */
export interface ApprovalGiven {
  comment?: string | null;
  head?: string | null;
}

/** Everything that waits for a person. */
export interface AttentionPage {
  seq: number;
  items: WaitingItem[];
}

/** A question that a run asks a person. */
export interface Breakpoint {
  effectId: string;
  question: string;
  since: string;
  seq: number;
}

/** A call of a hook: what it said, and why it ran or did not. */
export interface CallRow {
  id: number;
  seq: number;
  hook: string;
  name: string;
  point: string;
  kind: string;
  origin: string;
  status: string;
  attempts: number;
  startedAt: string | null;
  ms: number | null;
  exitCode: number | null;
  answer: unknown;
  error: string | null;
  stdout: Text | null;
  stderr: Text | null;
  condition: string | null;
  conditionValues: unknown;
  actions: ActionRow[];
}

/** What work changes: from one commit to another, as far as git still knows it. `older` and `newer` name what is compared; a `fork` is compared from where it left its base, up to the files in `tree` if they need not be committed. */
export interface Change {
  older: string;
  newer: string;
  fork: boolean;
  tree: string | null;
  files: FileChange[];
  diff: string;
  unknown: string | null;
}

/** What to change of a task: fields as they are called in a task, and its state. `state` is ready, active, blocked, failed or cancelled. */
export interface ChangesGiven {
  changes?: Record<string, unknown>;
  state?: string | null;
  reason?: string | null;
}

/** A figure by week: `x` are the Mondays, in seconds since 1970, UTC. `left_out` is how many lines with smaller figures are not drawn. */
export interface Chart {
  figure: string;
  label: string;
  unit: "count" | "ms" | "number" | "percent" | "seq" | "text" | "usd";
  x: number[];
  lines: Line[];
  leftOut: number;
}

/** A validation rule, what ran for it and what it found. */
export interface CheckedRule {
  ruleName: string;
  passed: boolean;
  command: string | null;
  exitCode: number | null;
  message: string | null;
}

/** The validation rules and their results. */
export interface ChecksStep {
  kind: "checks";
  at: string;
  seconds: number | null;
  results: CheckedRule[];
  seq: number;
}

/** Who works on a task, until when, and the token that every write of theirs must carry. */
export interface Claim {
  agent: string;
  token: number;
  leaseUntil: string;
}

/** Tasks that a task depends on from now on, and those it no longer depends on. */
export interface DependenciesGiven {
  add?: string[];
  remove?: string[];
}

/** What changes in a file; `hunks` are missing if it is not text, or the diff was cut before. */
export interface DiffFile {
  path: string;
  oldPath: string | null;
  status: string;
  added: number | null;
  removed: number | null;
  hunks: Hunk[];
}

/** A line, with its number before and after. */
export interface DiffLine {
  kind: "added" | "removed" | "same";
  old: number | null;
  new: number | null;
  text: string;
}

/** What work changes, from one commit or tree to another; `unknown` is why nobody can tell. */
export interface DiffPage {
  older: string | null;
  newer: string | null;
  files: DiffFile[];
  added: number;
  removed: number;
  cut: boolean;
  unknown: string | null;
}

/** What was done, in a sentence; `next` is what still has to be typed, if anything. `seq` is the newest event, which the stream will show. */
export interface DoneAnswer {
  message: string;
  seq: number;
  next: string | null;
  taskId: string | null;
  runId: string | null;
  session: string | null;
}

/** An effect of a run; `seq` is where it was asked for, `end_seq` where it got its result. */
export interface EffectRow {
  effectId: string;
  step: string;
  kind: string;
  status: string;
  text: string;
  args: unknown;
  value: unknown;
  error: string | null;
  attempts: number;
  requestedAt: string;
  resolvedAt: string | null;
  calledRun: string | null;
  seq: number;
  endSeq: number | null;
}

/** The result of an iteration. */
export interface EndedIteration {
  iteration: number | null;
  status: string;
  error: string | null;
  text: string;
  filesModified: string[];
  tools: number;
  passed: number;
  rules: number;
  decision: string | null;
  reason: string | null;
  hook: string | null;
  usd: number;
  tokens: number;
  timestamp: string;
}

/** One entry of the log: `{seq, id, timestamp, type, nodeId, data, metadata}`. */
export interface Event {
  seq: number;
  id: string;
  timestamp: string;
  type: string;
  nodeId: string;
  data: Record<string, unknown>;
  metadata: Record<string, unknown>;
}

/** An event: what its hooks saw and said, what caused it, and what it caused. */
export interface EventPage {
  seq: number;
  event: Event;
  payload: unknown;
  calls: CallRow[];
  caused: EventRow[];
  why: Explanation;
}

/** An event in a line. */
export interface EventRow {
  seq: number;
  at: string;
  type: string;
  node: string;
  by: string | null;
  session: string | null;
  run: string | null;
  text: string;
}

/** Events in order; `next` is the `before` of older ones. */
export interface EventsPage {
  seq: number;
  events: EventRow[];
  next: number | null;
}

/** Which events: older than `before`, newer than `after`, of types and a node. */
export interface EventsWanted {
  before?: number | null;
  after?: number | null;
  types?: string | null;
  node?: string | null;
  limit?: number;
}

/** One line of an explanation: the place, what it is, and the result. */
export interface ExplainedStep {
  where: string;
  what: string;
  result: string;
  detail: string;
}

/** An answer to "why?": one sentence, the steps that led there, and what to type next. */
export interface Explanation {
  subject: string;
  verdict: string;
  steps: ExplainedStep[];
  failedChecks: FailedCheck[];
  output: string;
  hint: string;
  next: string;
}

/** A validation rule that failed before a stop hook was asked, and the end of what it said. */
export interface FailedCheck {
  ruleName: string;
  message: string | null;
  passed: boolean;
}

/** What an agent says or does, or a hook next to it, as it was told to those who watch. */
export interface FeedEntry {
  timestamp: string;
  type: string;
  data: Record<string, unknown>;
}

/** How many bytes of the end of what was told to begin with. */
export interface FeedWanted {
  tail?: number;
}

/** A file that work changes, and how many of its lines; a binary file has none. */
export interface FileChange {
  path: string;
  added: number | null;
  removed: number | null;
}

/** The last that a gate said about the work, as a light. */
export interface GateLight {
  point: string;
  gate: string;
  light: "asked" | "failed" | "not yet" | "overridden" | "passed" | "skipped" | "waits";
  message: string;
  at: string | null;
  ms: number | null;
  seq: number | null;
}

/** What a gate said about the work, and what its author answered. */
export interface GateRow {
  seq: number;
  at: string | null;
  point: string;
  gate: string;
  status: string;
  message: string;
  comments: string[];
  remediation: Text | null;
  answer: string;
  output: Text | null;
  ms: number | null;
  runId: string | null;
}

/** From a dependency to what depends on it, through `points`: x, y, x, y. */
export interface GraphArrow {
  source: string;
  target: string;
  kind: string;
  points: number[];
}

/** A task at its place; `x` and `y` are the middle of its box. */
export interface GraphNode {
  id: string;
  goal: string;
  state: string;
  priority: number;
  type: string | null;
  agent: string | null;
  layer: number;
  x: number;
  y: number;
}

/** The graph: `left_out` of `total` tasks are not in it. */
export interface GraphPage {
  seq: number;
  nodes: GraphNode[];
  arrows: GraphArrow[];
  width: number;
  height: number;
  boxWidth: number;
  boxHeight: number;
  total: number;
  leftOut: number;
}

/** Which tasks to draw: what is open, or what one task depends on and holds up. */
export interface GraphWanted {
  focus?: string | null;
  all?: boolean;
  limit?: number;
}

/** What is held for the next prompt of a session. */
export interface HeldText {
  point: string;
  hook: string;
  eventSeq: number;
  bytes: number;
  text: string;
}

/** Something that was found; `seq` is its event, where it is one. */
export interface Hit {
  kind: string;
  id: string;
  title: string;
  text: string;
  at: string | null;
  seq: number | null;
}

/** One hook: what it does, its newest calls, and why the last one went as it did. */
export interface HookPage {
  seq: number;
  hook: HookRow;
  target: string | null;
  description: string | null;
  timeout: number | null;
  pipeOutput: boolean;
  onFailure: string | null;
  calls: CallRow[];
  why: Explanation;
}

/** A hook and its figures; `calls` is 0 if it was never called. `held_back` is why it may not run. `seq` is its newest call, `error_seq` the newest that failed. */
export interface HookRow {
  name: string;
  label: string;
  points: string[];
  rule: string;
  kind: string;
  origin: string;
  owner: string | null;
  when: string | null;
  enabled: boolean;
  heldBack: string | null;
  calls: number;
  ok: number;
  skipped: number;
  failed: number;
  pending: number;
  cut: number;
  p50Ms: number;
  p95Ms: number;
  slow: boolean;
  lastError: string | null;
  errorSeq: number | null;
  seq: number | null;
}

/** Every hook, in the order in which they are called. */
export interface HooksPage {
  seq: number;
  hooks: HookRow[];
}

/** Lines of a file that are next to each other. */
export interface Hunk {
  header: string;
  lines: DiffLine[];
}

/** A column of a table, and what its cells are; money is in USD, a time in milliseconds. */
export interface InsightColumn {
  name: string;
  label: string;
  unit: "count" | "ms" | "number" | "percent" | "seq" | "text" | "usd";
}

/** The newest facts behind a figure, and how many there are in all. Each has its event in `seq`, and the `task` and, where one is known, the `run` that it is about. */
export interface InsightFacts {
  table: string;
  columns: InsightColumn[];
  rows: ((string | number | null)[])[];
  total: number;
}

/** The facts behind a figure: `match` is JSON, the value that each column has to have. */
export interface InsightFactsWanted {
  since?: string | null;
  until?: string | null;
  type?: string | null;
  agent?: string | null;
  by?: string | null;
  table?: string | null;
  match?: string;
  limit?: number;
}

/** A table: each row has its newest event in the last column, and `sql` finds the rows. A cell is None where nothing is known. */
export interface InsightTable {
  name: string;
  title: string;
  about: string;
  columns: InsightColumn[];
  rows: ((string | number | null)[])[];
  charts: Chart[];
  advice: Advice[];
  sql: string;
}

/** What the log says about how work goes, from one moment to another. */
export interface Insights {
  since: string | null;
  until: string;
  type: string | null;
  agent: string | null;
  by: ("agent" | "type" | "week")[];
  tables: InsightTable[];
}

/** Which facts count and how they are split: `by` is a list such as `week,agent`. `since` and `until` are moments in UTC. `table` is the one that is wanted; without it, all. */
export interface InsightsWanted {
  since?: string | null;
  until?: string | null;
  type?: string | null;
  agent?: string | null;
  by?: string | null;
  table?: string | null;
}

/** One thing that waits for a person. `message` is a sentence that says why, `goal` what the work is about. `key` is the same for as long as it waits, and another one if it waits again. Of a session, `outcome` and `reason` say why it rests; `accept` is what to type instead if only a person can say that its work is right. Of a hook, `is_told` says that it failed where people are told: they are not told about that in the same way. Of a call, `seq` is the event that it was made at. */
export interface Item {
  kind: string;
  id: string;
  since: string | null;
  message: string;
  command: string;
  key: string;
  node?: string;
  goal?: string | null;
  outcome?: string | null;
  reason?: string | null;
  accept?: string | null;
  seq?: number | null;
  isTold?: boolean;
}

/** One part of a session; `diff` is where the API has what it changed. */
export interface IterationPage {
  runId: string;
  chapter: number;
  iteration: number | null;
  began: string | null;
  ended: EndedIteration | null;
  steps: (TurnStep | ChecksStep | PointStep | ToldStep)[];
  previous: number | null;
  next: number | null;
  diff: string | null;
}

/** A part of a session in a line; `chapter` names it, since an iteration can begin twice. `checked` is whether all of its rules passed, of which there is at least one. `seq` is the event with which it began, `end_seq` the one that has its figures. */
export interface IterationRow {
  chapter: number;
  iteration: number | null;
  began: string | null;
  ended: string | null;
  seconds: number | null;
  status: string | null;
  decision: string | null;
  reason: string | null;
  hook: string | null;
  error: string | null;
  tools: number;
  files: number;
  passed: number;
  rules: number;
  checked: boolean;
  usd: number;
  tokens: number;
  seq: number;
  endSeq: number | null;
}

/** One line of a chart; a value is None where nothing is known. */
export interface Line {
  label: string;
  values: (number | null)[];
}

/** What a person says about a line of a diff: its number after the change, or before it. */
export interface LineComment {
  path: string;
  line: number;
  text: string;
  side?: "new" | "old";
}

/** A task's work in the base branch; `untested` is why nothing tested what it was merged as. `steps` is how many commits of the base came of it. */
export interface MergedWork {
  taskId: string;
  runId: string;
  sha: string;
  base: string;
  at: string;
  testedBy: string[];
  untested: string | null;
  steps: number;
}

/** A message to a session's agent. */
export interface MessageGiven {
  text: string;
}

/** One note, and the task it belongs to, if any. */
export interface Note {
  id: string;
  kind: string;
  text: string;
  taskId: string | null;
  createdAt: string;
  createdBy: string | null;
}

/** For addresses that take no parameters. */
export interface Nothing {
}

/** Tasks in the order in which they shall be taken; their priorities change for that. */
export interface OrderGiven {
  tasks: string[];
}

/** A person's decision that a gate does not apply. */
export interface OverriddenGate {
  at: string;
  point: string;
  gate: string;
  by: string;
  reason: string;
}

/** A gate to bypass, and why; it stays on record. */
export interface OverrideGiven {
  gate: string;
  reason: string;
}

/** Who works on what, which gates said what, and what merges next. */
export interface PipelinePage {
  seq: number;
  workers: WorkerRow[];
  lanes: SessionFacts[];
  work: WorkRow[];
  queue: QueuedMerge[];
}

/** A hook point, the calls of its hooks, and what they decided together. */
export interface PointStep {
  kind: "point";
  point: string;
  at: string;
  calls: CallRow[];
  decision: ToldDecision | null;
  seq: number;
}

/** What happened in a project from one moment to another. */
export interface ProjectStory {
  since: string;
  until: string;
  headline: string;
  tasks: TaskStory[];
  leftOut: number;
  sessions: ReportedSession[];
  cost: WholeCost;
  waiting: Item[];
}

/** What a check said last, and about which commit; `none` where a point has no gate. */
export interface Proof {
  point: string;
  check: string;
  status: string;
  commit: string | null;
  at: string | null;
  message: string;
}

/** What is asked: by a gate at its `point`, or by a breakpoint of a flow. `head` is the commit that a gate asks about. */
export interface Question {
  text: string;
  seq: number | null;
  point: string | null;
  hook: string | null;
  head: string | null;
  effectId: string | null;
}

/** A merge in the queue; the first one may merge. `seq` is its position. */
export interface QueuedMerge {
  place: number;
  taskId: string;
  runId: string;
  goal: string;
  seq: number;
}

/** Why; it is recorded. */
export interface ReasonGiven {
  reason?: string | null;
}

/** Why a request was refused. */
export interface RefusedAnswer {
  error: RefusedText;
}

/** What is wrong, and what helps. */
export interface RefusedText {
  code: string;
  message: string;
  help: string | null;
}

/** A rejection; the comments become what the agent is asked to fix. */
export interface RejectionGiven {
  comment?: string | null;
  lines?: LineComment[];
  head?: string | null;
}

/** All that is in the file: either a session, or the work of a project or a task. */
export interface ReportFile {
  title: string;
  made: string;
  version: string;
  session: SessionStory | null;
  work: ProjectStory | null;
}

/** A session that did something, and its status. `proven` is whether its own checks, or those of its task, passed. */
export interface ReportedSession {
  runId: string;
  name: string;
  taskId: string;
  agent: string | null;
  status: string;
  iterations: number;
  proven: boolean;
  why: string | null;
}

/** A task about which something happened: its outcome, why, what proves it, what it cost. */
export interface ReportedTask {
  taskId: string;
  goal: string;
  state: string;
  outcome: string;
  why: string | null;
  merged: MergedWork | null;
  proofs: Proof[];
  cost: WholeCost;
  change: Change | null;
}

/** New limits by name, such as `iterations` or `usd`, and a message for the agent. */
export interface ResumeGiven {
  limits?: Record<string, number>;
  message?: string | null;
}

/** What one agent cost in one role. */
export interface RoleCost {
  turns: number;
  inputTokens: number;
  outputTokens: number;
  usd: number | null;
  computed: number;
  seconds: number;
  unfinished: number;
  role: string;
  agent: string;
  model: string | null;
}

/** A run with the journal of one of its chapters, its questions and its events. */
export interface RunPage {
  seq: number;
  run: RunRow;
  input: unknown;
  value: unknown;
  chapter: number;
  chapters: number;
  effects: EffectRow[];
  questions: Breakpoint[];
  events: EventRow[];
  caller: string | null;
  called: string[];
  ways: Way[];
}

/** A run in a line; `asks` is how many of its breakpoints wait for an answer. */
export interface RunRow {
  runId: string;
  flow: string;
  status: string;
  taskId: string | null;
  session: string | null;
  createdAt: string | null;
  updatedAt: string | null;
  reason: string | null;
  error: string | null;
  holder: string | null;
  wakeAt: string | null;
  iteration: number;
  asks: number;
}

/** Which chapter of a run; the newest if none is named. */
export interface RunWanted {
  chapter?: number | null;
}

/** Runs, the newest first; `next` is the `before` of those that follow. */
export interface RunsPage {
  seq: number;
  runs: RunRow[];
  next: string | null;
}

/** Which runs. */
export interface RunsWanted {
  limit?: number;
  before?: string | null;
  status?: string | null;
  flow?: string | null;
}

/** The best hits; `more` if there are others. */
export interface SearchPage {
  query: string;
  hits: Hit[];
  more: boolean;
}

/** What to search for. */
export interface SearchWanted {
  q?: string;
  limit?: number;
}

/** A session as every command shows it; `used` is how much of its `limit` is used. `problem` is why its agent cannot work until a person has repaired something, `beside` the session whose change cannot be told from its own. One that is `planned` is paused until a person starts the plan that its agent has made. */
export interface SessionFacts {
  runId: string;
  name: string;
  status: string;
  goal: string;
  taskId: string;
  agent: string | null;
  iteration: number;
  createdAt: string | null;
  branch?: string | null;
  pid?: number | null;
  until?: string | null;
  reason?: string | null;
  limit?: string | null;
  used?: number | null;
  since?: string | null;
  problem?: AgentProblem | null;
  beside?: string | null;
  planned?: boolean;
}

/** A session to start: on a goal, or on a task. */
export interface SessionGiven {
  goal?: string | null;
  task?: string | null;
  agent?: string | null;
  name?: string | null;
  limits?: Record<string, number>;
  plan?: boolean;
}

/** A session: its facts and figures, what it waits for, and its iterations in a line each. `previous` and `next` are the runs of the sessions before and after it. `proven` is whether its own checks passed, and `unproven` why nothing but its agent's word says that it is completed. */
export interface SessionPage {
  seq: number;
  known: SessionFacts;
  task: Task | null;
  limits: UsedLimit[];
  usd: number;
  tokens: number;
  iterations: IterationRow[];
  held: HeldText[];
  messages: string[];
  wants: string | null;
  failedChecks: Record<string, unknown>[];
  pruned: string | null;
  proven: boolean;
  unproven: string | null;
  previous: string | null;
  next: string | null;
  ways: Way[];
}

/** A session in a line; `seq` is its newest event. `unproven` is why nothing but its agent's word says that it is completed. */
export interface SessionRow {
  known: SessionFacts;
  limits: UsedLimit[];
  usd: number;
  tokens: number;
  unproven: string | null;
  seq: number;
}

/** A session with its newest iterations in full. `left_out` older iterations are not even listed. `proof` is the last one that a stop hook kept. */
export interface SessionStory {
  page: SessionPage;
  why: string | null;
  iterations: number;
  leftOut: number;
  story: ToldWhole[];
  proof: Record<string, unknown> | null;
  tasks: Task[];
  cost: WholeCost;
  gates: GateRow[];
  overridden: OverriddenGate[];
  notes: Note[];
}

/** The newest sessions; `next` is the `before` of those that follow. */
export interface SessionsPage {
  seq: number;
  sessions: SessionRow[];
  next: string | null;
}

/** Which sessions; `runs` are those that are named: `R-1,R-7`. */
export interface SessionsWanted {
  limit?: number;
  before?: string | null;
  status?: string | null;
  runs?: string | null;
}

/** Whether to stop at once, and not after the turn. */
export interface StopGiven {
  now?: boolean;
}

/** A line of the stream: an event in a few words; or `beat`, which says that all is well. Of a `beat`, `seq` is the newest event; of `again` too: too much was missed, so read afresh. */
export interface StreamLine {
  kind: string;
  seq: number;
  type: string;
  node: string;
  at: string;
  session: string | null;
  run: string | null;
  task: string | null;
}

/** The position in the log after which the stream begins; without one it begins now. */
export interface StreamWanted {
  after?: number | null;
}

/** A task as every surface shows it. */
export interface Task {
  id: string;
  goal: string;
  state: string;
  labels: string[];
  priority: number;
  type: string | null;
  desiredDeliverables: string[];
  parentTaskId: string | null;
  dependsOn: string[];
  createdAt: string | null;
  startedAt: string | null;
  completedAt: string | null;
  result: string | null;
  artifacts: string[];
  blockReason: string | null;
  requiredKnowledge: string[];
  notes: string[];
  claim: Claim | null;
  prUrl: string | null;
  commitsCount: number | null;
  turnsUsed: number | null;
  changes: string | null;
}

/** A task to add. */
export interface TaskGiven {
  goal: string;
  type?: string | null;
  labels?: string[];
  priority?: number | null;
  dependsOn?: string[];
  parent?: string | null;
}

/** Another task, in a few words. */
export interface TaskLink {
  id: string;
  goal: string;
  state: string;
}

/** A task's story: its events, sessions and gates, what it cost, and why it is as it is. `outcome` is what came of it, such as `merged untested` or `completed unproven`, `proofs` are what checked it. */
export interface TaskPage {
  seq: number;
  task: Task;
  outcome: string;
  outcomeWhy: string | null;
  proofs: Proof[];
  dependsOn: TaskLink[];
  dependents: TaskLink[];
  parent: TaskLink | null;
  parts: TaskLink[];
  events: EventRow[];
  sessions: SessionRow[];
  gates: GateRow[];
  notes: string[];
  cost: WholeCost;
  why: Explanation;
  diff: string | null;
  ways: Way[];
}

/** A task in a line: what it waits for, and the run of the session that works on it. `seq` is its newest event. */
export interface TaskRow {
  task: Task;
  unmet: string[];
  session: string | null;
  seq: number;
}

/** What happened to a task, and what its work changes. */
export interface TaskStory {
  task: ReportedTask;
  change: DiffPage | null;
}

/** Tasks in the order in which they are taken; `next` is the `after` of those that follow. `counts` is how many there are in each state. */
export interface TasksPage {
  seq: number;
  tasks: TaskRow[];
  counts: Record<string, number>;
  next: string | null;
}

/** Which tasks: `all` has those that are over, too; `after` is the `next` of what is shown. `ids` are those that are named: `T-1,T-3`. */
export interface TasksWanted {
  state?: string | null;
  label?: string | null;
  type?: string | null;
  all?: boolean;
  ids?: string | null;
  after?: string | null;
  limit?: number;
}

/** The begin of a text, and how many bytes it has; if it is `cut`, `path` has all of it. */
export interface Text {
  text: string;
  bytes: number;
  cut: boolean;
  path: string | null;
}

/** What stop hooks decided together. */
export interface ToldDecision {
  action: string;
  reason: string;
  nextPrompt: string | null;
}

/** Something else: outputs that were delivered, a message, a wait, an ending. */
export interface ToldStep {
  kind: "told";
  title: string;
  at: string;
  text: Text;
  seq: number;
}

/** An iteration with everything in it; `since` is from where its changes are counted. */
export interface ToldWhole {
  page: IterationPage;
  change: DiffPage | null;
  since: string | null;
}

/** A tool that an agent used, as far as what it said is still there. */
export interface ToolUse {
  at: string;
  name: string;
  detail: string;
  ok: boolean | null;
  seconds: number | null;
}

/** A condition, and the recorded event to try it on; `hook` is whose variables it has. */
export interface TrialGiven {
  when: string;
  seq: number;
  hook?: string | null;
}

/** What a condition says about a recorded event: true, false, or a problem with its text. `recorded` is what the hook's own condition said then; `unknown` are values that only a program could tell, which was not asked. */
export interface Tried {
  seq: number;
  point: string;
  when: string;
  result: boolean | null;
  values: unknown;
  problem: string | null;
  recorded: string | null;
}

/** A turn of the agent: the exact bytes that it was told, and what it said. */
export interface TurnStep {
  kind: "turn";
  effectId: string;
  at: string;
  seconds: number | null;
  prompt: Text;
  text: Text;
  error: string | null;
  tools: number;
  used: ToolUse[];
  files: string[];
  tokens: number;
  usd: number | null;
  seq: number;
  endSeq: number | null;
}

/** How much of a limit is used. */
export interface UsedLimit {
  name: string;
  used: number;
  allowed: number;
}

/** Who looks: a person decides, a viewer sees; `refused` is why someone may not decide. `store` is another one if the project's store was replaced. */
export interface Visitor {
  role: "person" | "viewer";
  decides: boolean;
  refused: string | null;
  name: string;
  project: string;
  root: string;
  store: string;
  version: string;
  seq: number;
  agents: AgentChoice[];
  types: string[];
}

/** One thing that waits for a person: why, since when, what to type, and what to press. `diff` is where the API has the changes that it is about. */
export interface WaitingItem {
  key: string;
  kind: string;
  id: string;
  since: string | null;
  message: string;
  command: string;
  goal: string | null;
  outcome: string | null;
  reason: string | null;
  taskId: string | null;
  runId: string | null;
  session: string | null;
  seq: number | null;
  question: Question | null;
  diff: string | null;
  ways: Way[];
}

/** What a person can do now: POST to `path` of the API, under a button called `label`. */
export interface Way {
  verb: string;
  label: string;
  path: string;
}

/** What some turns cost together, and each role's part of it. */
export interface WholeCost {
  turns: number;
  inputTokens: number;
  outputTokens: number;
  usd: number | null;
  computed: number;
  seconds: number;
  unfinished: number;
  roles: RoleCost[];
}

/** A task's work on its way, with a light for each gate. */
export interface WorkRow {
  taskId: string;
  goal: string;
  state: string;
  runId: string | null;
  flow: string | null;
  outcome: string | null;
  reason: string | null;
  since: string | null;
  until: string | null;
  lights: GateLight[];
}

/** A process that takes tasks. */
export interface WorkerRow {
  pid: number;
  since: string;
  command: string;
}

/** Every address of the API: its method, what it takes, and what it answers. */
export interface Routes {
  /** GET /api/me: Who looks, and at which project. */
  visitor: { takes: Nothing; answers: Visitor };
  /** GET /api/attention: What waits for a person. */
  attention: { takes: Nothing; answers: AttentionPage };
  /** GET /api/sessions: Sessions, the newest first. */
  sessions: { takes: SessionsWanted; answers: SessionsPage };
  /** GET /api/sessions/{run}: One session. */
  session: { takes: Nothing; answers: SessionPage };
  /** GET /api/sessions/{run}/iterations/{chapter}: One iteration of a session in full. */
  iteration: { takes: Nothing; answers: IterationPage };
  /** GET /api/sessions/{run}/iterations/{chapter}/diff: What an iteration changed. */
  iteration_diff: { takes: Nothing; answers: DiffPage };
  /** GET /api/sessions/{run}/iterations/{chapter}/texts/{effect}/{part}: All of a text of an effect: its `prompt`, or what the agent said as `text`. */
  effect_text: { takes: Nothing; answers: string };
  /** GET /api/sessions/{run}/feed: What the agent says and does, as it happens: a line of JSON for each record. | lines */
  feed: { takes: FeedWanted; answers: FeedEntry };
  /** GET /api/tasks: Tasks in the order in which they are taken. */
  tasks: { takes: TasksWanted; answers: TasksPage };
  /** GET /api/tasks/{task}: A task's story. */
  task: { takes: Nothing; answers: TaskPage };
  /** GET /api/tasks/{task}/diff: What a task's work changes. */
  task_diff: { takes: Nothing; answers: DiffPage };
  /** GET /api/graph: The task graph, laid out. */
  graph: { takes: GraphWanted; answers: GraphPage };
  /** GET /api/pipeline: Lanes, gates and the merge queue. */
  pipeline: { takes: Nothing; answers: PipelinePage };
  /** GET /api/runs: Runs of flows, the newest first. */
  runs: { takes: RunsWanted; answers: RunsPage };
  /** GET /api/runs/{run}: A run with its journal. */
  run: { takes: RunWanted; answers: RunPage };
  /** GET /api/hooks: Every hook with its figures. */
  hooks: { takes: Nothing; answers: HooksPage };
  /** GET /api/hooks/{hook}: One hook. */
  hook: { takes: Nothing; answers: HookPage };
  /** GET /api/calls/{call}/{part}: All that a hook printed: `stdout` or `stderr`. */
  call_text: { takes: Nothing; answers: string };
  /** GET /api/events: The log, the newest event first. */
  events: { takes: EventsWanted; answers: EventsPage };
  /** GET /api/events/{seq}: One event, and what it led to. */
  event: { takes: Nothing; answers: EventPage };
  /** GET /api/search: Search over everything. */
  search: { takes: SearchWanted; answers: SearchPage };
  /** GET /api/insights: How work goes, in tables with charts and advice. */
  insights: { takes: InsightsWanted; answers: Insights };
  /** GET /api/insights/{table}/facts: The facts behind a figure, the newest first. */
  insight_facts: { takes: InsightFactsWanted; answers: InsightFacts };
  /** GET /api/insights/{table}/csv: A table as CSV. */
  insight_csv: { takes: InsightsWanted; answers: string };
  /** GET /metrics: The figures of the record for Prometheus. */
  metrics: { takes: Nothing; answers: string };
  /** GET /api/stream: Events as they happen, a line of JSON for each. | lines */
  stream: { takes: StreamWanted; answers: StreamLine };
  /** POST /api/playground: Try a condition on a recorded event. */
  playground: { takes: TrialGiven; answers: Tried };
  /** POST /api/tasks/{task}/approve: Approve work that waits. */
  approve: { takes: ApprovalGiven; answers: DoneAnswer };
  /** POST /api/tasks/{task}/reject: Send work back, with comments. */
  reject: { takes: RejectionGiven; answers: DoneAnswer };
  /** POST /api/tasks/{task}/override: Bypass a gate. */
  override: { takes: OverrideGiven; answers: DoneAnswer };
  /** POST /api/tasks/{task}/submit: Submit a task's work, or continue that. */
  submit: { takes: Nothing; answers: DoneAnswer };
  /** POST /api/tasks/{task}/merge: Merge submitted work, or continue that. */
  merge: { takes: Nothing; answers: DoneAnswer };
  /** POST /api/tasks: Add a task. */
  add_task: { takes: TaskGiven; answers: DoneAnswer };
  /** POST /api/tasks/order: Put tasks into an order. */
  order_tasks: { takes: OrderGiven; answers: DoneAnswer };
  /** POST /api/tasks/{task}: Change a task. */
  change_task: { takes: ChangesGiven; answers: DoneAnswer };
  /** POST /api/tasks/{task}/dependencies: Add and remove dependencies. */
  change_dependencies: { takes: DependenciesGiven; answers: DoneAnswer };
  /** POST /api/sessions: Start a session. */
  start_session: { takes: SessionGiven; answers: DoneAnswer };
  /** POST /api/sessions/{run}/message: Send a message to a session's agent. */
  message: { takes: MessageGiven; answers: DoneAnswer };
  /** POST /api/sessions/{run}/pause: Pause a session. */
  pause_session: { takes: Nothing; answers: DoneAnswer };
  /** POST /api/sessions/{run}/stop: Stop a session. */
  stop_session: { takes: StopGiven; answers: DoneAnswer };
  /** POST /api/sessions/{run}/resume: Resume a session. */
  resume_session: { takes: ResumeGiven; answers: DoneAnswer };
  /** POST /api/runs/{run}/answer: Answer a breakpoint. */
  answer: { takes: AnswerGiven; answers: DoneAnswer };
  /** POST /api/runs/{run}/resume: Resume a run, or have it continue. */
  resume_run: { takes: Nothing; answers: DoneAnswer };
  /** POST /api/runs/{run}/pause: Pause a run. */
  pause_run: { takes: ReasonGiven; answers: DoneAnswer };
  /** POST /api/runs/{run}/stop: Park a run. */
  stop_run: { takes: ReasonGiven; answers: DoneAnswer };
  /** POST /api/runs/{run}/cancel: Cancel a run. */
  cancel_run: { takes: ReasonGiven; answers: DoneAnswer };
}

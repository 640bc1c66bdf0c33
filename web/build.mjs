// Write the page's files into the package: its script, that of reports, one style sheet, the document,
// and a record of what they were made from (`built.json`), which a test compares with the sources.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { context, build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const into = process.env.HOOKLINE_PAGE_INTO ?? join(here, "../src/hookline/surfaces/web/static");
// What the result depends on besides `src`.
const INPUTS = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json"];

const options = {
  entryPoints: {
    app: join(here, "src/main.tsx"),
    report: join(here, "src/report.tsx"),
    style: join(here, "src/style/index.css"),
  },
  outdir: into,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
};

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* files(path);
    else yield path;
  }
}

/** The digest of every source: a line `digest  path` each, sorted by path. */
function digestOfSources() {
  const names = [...files(join(here, "src"))].map((path) => relative(here, path));
  const lines = [...names, ...INPUTS]
    .sort()
    .map((name) => `${sha256(readFileSync(join(here, name)))}  ${name}\n`);
  return sha256(lines.join(""));
}

function finish() {
  for (const name of ["index.html", "icon.svg"]) {
    copyFileSync(join(here, "src", name), join(into, name));
  }
  const written = ["app.js", "report.js", "style.css", "index.html", "icon.svg"];
  const built = Object.fromEntries(written.map((n) => [n, sha256(readFileSync(join(into, n)))]));
  const record = { sources: digestOfSources(), files: built };
  writeFileSync(join(into, "built.json"), `${JSON.stringify(record, null, 2)}\n`);
}

rmSync(into, { recursive: true, force: true });
mkdirSync(into, { recursive: true });
if (process.argv.includes("--watch")) {
  const again = { name: "finish", setup: (each) => each.onEnd(finish) };
  await (await context({ ...options, plugins: [again] })).watch();
} else {
  await build(options);
  finish();
}

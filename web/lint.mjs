// Refuse what would let text become markup or code, and addresses of other hosts.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const src = fileURLToPath(new URL("src", import.meta.url));
const REFUSED = [
  [/\b(inner|outer)HTML\b|insertAdjacentHTML|dangerouslySetInnerHTML|srcdoc/, "text is text"],
  [/\bdocument\.(write|writeln)\b|createContextualFragment|DOMParser|setHTML/, "text is text"],
  [/\beval\s*\(|new Function\b|\bset(Timeout|Interval)\(\s*["'`]/, "nothing becomes code"],
  [/javascript:/i, "nothing becomes code"],
  [/["'`(]\s*(https?:)?\/\/[\w.]/, "the page asks no other host"],
  [/setAttribute\(\s*["'`](style|on)/, "the policy refuses it"],
  [/\bany\b(?=\s*[;,)>=\]|&}])|\bas any\b|@ts-(ignore|nocheck)/, "name the type"],
];

let found = 0;
for (const entry of readdirSync(src, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(tsx?|css|html)$/.test(entry.name)) continue;
  const path = join(entry.parentPath, entry.name);
  readFileSync(path, "utf8").split("\n").forEach((line, index) => {
    for (const [pattern, why] of REFUSED) {
      if (!pattern.test(line)) continue;
      console.error(`${path}:${index + 1}: ${why}: ${line.trim()}`);
      found += 1;
    }
  });
}
process.exit(found ? 1 : 0);

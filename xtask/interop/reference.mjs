// Serves the published TypeScript example over standard input and output, in place of the walk that it takes by itself.
import { readFileSync, writeFileSync } from "node:fs";

const source = readFileSync(process.argv[2], "utf8");
const walk = source.lastIndexOf("demo().catch");
if (walk < 0) throw new Error(`${process.argv[2]} takes no walk: look at how it starts`);
const served = new URL("reference-served.ts", import.meta.url);
writeFileSync(served, `${source.slice(0, walk)}
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await processJsonRpc(line);
  if (answer) console.log(answer);
}
`);
await import(served.href);

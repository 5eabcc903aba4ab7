// Validates results in envelopes with ajv: `rest.mjs FOLDER ROOT`.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import Ajv from "ajv";

const [folder, root] = process.argv.slice(2);
const read = (...parts) => JSON.parse(readFileSync(join(...parts), "utf8"));
const schema = (name) => read(root, "mgp-types/src/ext/envelope", `${name}.schema.json`);

const ajv = new Ajv({ allowUnionTypes: true });
const isResult = ajv.compile(schema("tool_result"));
const isCall = ajv.compile(schema("tool_call"));
for (const result of read(folder, "results.json")) {
    if (!isResult(result)) throw new Error(JSON.stringify([result, isResult.errors]));
}
for (const call of read(folder, "calls.json")) {
    if (!isCall(call)) throw new Error(JSON.stringify([call, isCall.errors]));
}
for (const wrong of [{ status: "failed" }, { status: "success", data: [] }, {}]) {
    if (isResult(wrong)) throw new Error(`accepted: ${JSON.stringify(wrong)}`);
}
for (const wrong of [{ tool_name: "a", arguments: {} }, { tool_name: "a.b", arguments: {}, x: 1 }, { tool_name: "a.b" }]) {
    if (isCall(wrong)) throw new Error(`accepted: ${JSON.stringify(wrong)}`);
}

// Runs named checks one after the other and prints a JSON line for each:
// {"check":"tools/list","ok":true,"detail":"…"}. Ends with 1 if any failed.

export async function run(checks) {
    let failed = false;
    for (const [check, work] of Object.entries(checks)) {
        let line;
        try {
            line = { check, ok: true, detail: String((await within(LIMIT_MS, work())) ?? '') };
        } catch (error) {
            line = { check, ok: false, detail: String(error?.message ?? error) };
            failed = true;
        }
        console.log(JSON.stringify(line));
        // Without a connection there is nothing to check.
        if (check === 'connect' && failed) break;
    }
    process.exit(failed ? 1 : 0);
}

export function expect(actual, wanted) {
    if (actual !== wanted) throw new Error(`expected ${JSON.stringify(wanted)}, got ${JSON.stringify(actual)}`);
    return actual;
}

/** These SDKs drop a notification that arrives in one piece with the result, so the last ones may lack. */
export function inOrder(seen, wanted) {
    if (seen.length === 0) throw new Error('no progress arrived');
    return expect(seen.join(), wanted.slice(0, seen.length).join());
}

/** Text of the first content block. */
export const text = result => result.content?.[0]?.text;

/** Fails unless the work is refused soon after `abort`. */
export async function aborted(work, controller) {
    setTimeout(() => controller.abort(), 300);
    const outcome = await within(5000, work.then(() => 'answered', () => 'aborted'));
    return expect(outcome, 'aborted');
}

function within(ms, work) {
    let timer;
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms)));
    return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

const LIMIT_MS = 15_000;

// What people do on the page, in a real browser. Prints a row for each check, and ends with 1 if one fails.
//
// page.mjs MGP BROWSER FOLDER      the checks; pictures go to FOLDER
// page.mjs server                  the server behind the kernel, over standard input and output
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const HOSTILE = '<img src=x onerror="window.injected=1"><script>window.injected=1</script>\u202e';
const PASSPHRASE = 'correct horse battery';

if (process.argv[2] === 'server') {
  const tool = (name, description, properties) => ({ name, description, inputSchema: { type: 'object', properties } });
  const tools = [
    tool('list_notes', 'Lists the notes.', {}),
    tool('delete_note', 'Deletes a note.', { number: { type: 'integer' }, why: { type: 'string' } }),
    tool('read_hostile', `Reads. ${HOSTILE}`, {}),
  ];
  const answers = {
    initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1' } }),
    'tools/list': () => ({ tools }),
    'tools/call': (params) => ({ content: [{ type: 'text', text: `done ${params.name} ${params.arguments?.number ?? ''}` }] }),
  };
  process.stderr.write(`${HOSTILE}\n`);
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined || !answers[method]) continue;
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: answers[method](params) })}\n`);
  }
  process.exit(0);
}

const [, script, mgp, browserPath, folder] = process.argv;
const require = createRequire(join(process.cwd(), 'page.mjs'));
const { chromium } = require('playwright-core');
const axe = require.resolve('axe-core');

const home = join(folder, 'home');
rmSync(home, { recursive: true, force: true });
mkdirSync(home, { recursive: true, mode: 0o700 });
const config = join(home, 'mgp.toml');
writeFileSync(config, `
[access]
default = "opt-out"
[[servers]]
id = "notes"
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(script)}, "server"]
[[servers]]
id = "broken"
command = "false"
`);
const options = ['--config', config, '--state', join(home, 'state')];
const command = (words, input = '') =>
  spawnSync(mgp, [...options, ...words], { input, encoding: 'utf8', env: { ...process.env, HOME: home } });

let kernel;
let agents;

/** Starts the kernel, and waits until its server is there. */
async function start() {
  kernel = spawn(mgp, [...options, 'serve', '--http', '127.0.0.1:0', '--no-stdio'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: home },
  });
  for await (const line of createInterface({ input: kernel.stderr })) {
    const found = line.match(/listening at (\S+)/);
    if (found) {
      [, agents] = found;
      break;
    }
  }
  kernel.stderr.resume();
  await until('the server is there', () => command(['tools', '--json']).stdout.includes('delete_note'));
}

async function stop() {
  command(['stop']);
  if (kernel.exitCode === null) await new Promise((ended) => { kernel.once('exit', ended); });
}

/** Returns the address of the page, and a code. */
function opened() {
  const { stdout, stderr } = command(['ui', '--no-browser', '--json']);
  if (!stdout) throw new Error(stderr);
  const { address, code } = JSON.parse(stdout);
  return { address, code };
}

/** Calls a tool as an agent does, and returns what it gets. */
async function call(name, given) {
  const post = (session, message) => fetch(agents, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      ...(session ? { 'mcp-session-id': session } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  });
  const begun = await post(null, {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'agent', version: '1' } },
  });
  await begun.text();
  const session = begun.headers.get('mcp-session-id');
  await post(session, { method: 'notifications/initialized' });
  const answer = await post(session, { id: 2, method: 'tools/call', params: { name, arguments: given } });
  return answer.text();
}

async function until(what, is) {
  const end = Date.now() + 30_000;
  while (!(await is())) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((later) => { setTimeout(later, 50); });
  }
}

function must(is, what) {
  if (!is) throw new Error(what);
}

const checks = [];
async function check(name, work) {
  const began = Date.now();
  let said = '';
  try {
    said = (await work()) ?? 'ok';
  } catch (error) {
    said = `FAILED: ${error.message.split('\n')[0]}`;
  }
  checks.push([name, `${Date.now() - began}`, said]);
  console.log(`| ${name.padEnd(66)} | ${String(Date.now() - began).padStart(5)} | ${said} |`);
}

const faults = [];
/** Opens a page of a browser whose faults are noted. */
async function page(context) {
  const opened = await context.newPage();
  opened.on('console', (message) => {
    if (message.type() === 'error' && !/status of (400|401|403|404)|ERR_CONNECTION|ERR_INCOMPLETE/.test(message.text())) faults.push(message.text());
  });
  opened.on('pageerror', (error) => faults.push(error.message));
  return opened;
}

async function signIn(tab, code) {
  await tab.fill('input[name=code]', code);
  await tab.press('input[name=code]', 'Enter');
  await tab.waitForURL((url) => url.pathname !== '/login');
}

const paths = ['/', '/servers', '/servers/notes', '/tools', '/tools?_task=delete+a+note', '/tools/notes.delete_note', '/definitions', '/access', '/record', '/kernel'];

await start();
command(['operators', 'passphrase', '--stdin'], `${PASSPHRASE}\n`);
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
let { address, code } = opened();
const tab = await page(context);
let waiting;

await check('a wrong code says so, and the right one leads where one wanted to go', async () => {
  await tab.goto(`${address}/servers`);
  await tab.fill('input[name=code]', 'K7QF-9M2X');
  await tab.press('input[name=code]', 'Enter');
  must((await tab.textContent('main')).includes('does not hold'), 'nothing is said of a wrong code');
  await tab.goto(`${address}/servers`);
  await signIn(tab, code);
  must(new URL(tab.url()).pathname === '/servers', tab.url());
});

await check('a question comes up by itself', async () => {
  await tab.goto(address);
  await tab.waitForLoadState('load');
  waiting = call('notes__delete_note', { number: 1, why: HOSTILE.replace('\u202e', '') });
  await tab.waitForSelector('article.card a');
  must((await tab.title()).includes('1 question waits'), await tab.title());
});

await check('its page shows the whole call, and texts of others are texts', async () => {
  await tab.click('article.card a');
  await tab.waitForSelector('text=Your answer');
  must((await tab.textContent('pre')).includes('onerror'), 'the arguments are not shown');
  must(await tab.evaluate(() => window.injected === undefined && !document.querySelector('main img')), 'a text became a part of the page');
});

const other = await page(context);
await other.goto(tab.url());

await check('it is answered with the keyboard alone', async () => {
  const reach = async (label) => {
    for (let presses = 0; presses < 60; presses += 1) {
      await tab.keyboard.press('Tab');
      if ((await tab.evaluate(() => document.activeElement?.textContent)) === label) return;
    }
    throw new Error(`Tab never reaches ${label}`);
  };
  await reach('Approve this call');
  await tab.keyboard.press('Enter');
  await tab.waitForSelector('input[name=_passphrase]');
  await tab.keyboard.type(PASSPHRASE);
  await tab.keyboard.press('Enter');
  await tab.waitForURL((url) => url.pathname === '/');
  must((await waiting).includes('done delete_note'), await waiting);
});

await check('who comes second changes nothing, and is told', async () => {
  await other.click('text=Deny');
  const said = await other.textContent('main');
  must(said.includes('That was not done'), said);
});

await check('a call is approved with other arguments, which stay while the page changes', async () => {
  waiting = call('notes__delete_note', { number: 3, why: 'The project is finished.' });
  await tab.goto(address);
  await tab.waitForSelector('article.card a');
  await tab.click('article.card a');
  await tab.waitForSelector('text=Your answer');
  // The picture of docs/page.png.
  await tab.screenshot({ path: join(folder, 'question.png'), clip: { x: 0, y: 0, width: 1200, height: 690 } });
  await tab.click('summary:has-text("Approve with other arguments")');
  const typed = (await tab.inputValue('textarea')).replace('3', '4');
  await tab.fill('textarea', typed);
  // An event of the record has the page brought up to date, also where nothing is focused that is typed into.
  await tab.focus('button:has-text("Approve with these arguments")');
  const refreshed = tab.waitForResponse((answer) => new URL(answer.url()).pathname.startsWith('/questions/'));
  await call('notes__list_notes', {});
  await (await refreshed).finished();
  await tab.evaluate(() => new Promise((shown) => { requestAnimationFrame(shown); }));
  must((await tab.inputValue('textarea')) === typed, 'the edit is lost');
  await tab.screenshot({ path: join(folder, 'edit.png') });
  await tab.click('button:has-text("Approve with these arguments")');
  await tab.waitForURL((url) => url.pathname === '/');
  const answer = await waiting;
  must(answer.includes('done delete_note 4') && answer.includes('edited_arguments'), answer);
});

for (const [theme, width] of [['light', 1200], ['dark', 1200], ['light', 360], ['dark', 360]]) {
  await check(`axe finds nothing, and nothing is wider than the screen: ${theme}, ${width} px`, async () => {
    const shown = await browser.newContext({
      viewport: { width, height: 800 }, colorScheme: theme, storageState: await context.storageState(), bypassCSP: true,
    });
    const seen = await page(shown);
    for (const path of [...paths, '/login']) {
      await seen.goto(address + path);
      await seen.addScriptTag({ path: axe });
      const { violations } = await seen.evaluate(() => window.axe.run());
      const found = violations.map((fault) => `${fault.id} at ${fault.nodes[0].target}`);
      must(found.length === 0, `${path}: ${found.join('; ')}`);
      const wide = await seen.evaluate(() => document.scrollingElement.scrollWidth > window.innerWidth);
      must(!wide, `${path} is wider than ${width} px`);
      await seen.screenshot({ path: join(folder, `${path.replaceAll(/\W/g, '_')}-${theme}-${width}.png`), fullPage: true });
    }
    await shown.close();
  });
}

await check('every link leads to something of this kernel', async () => {
  const known = new Set();
  const next = [...paths];
  while (next.length > 0) {
    const path = next.pop();
    if (known.has(path) || known.size > 300) continue;
    known.add(path);
    const answer = await tab.goto(address + path);
    must(answer.status() === 200, `${path}: ${answer.status()}`);
    const links = await tab.$$eval('a[href]:not([download])', (all) => all.map((link) => new URL(link.getAttribute('href'), location.href).href));
    for (const link of links) {
      must(new URL(link).origin === address, `${path} leads to ${link}`);
      next.push(link.slice(address.length).split('#')[0] || '/');
    }
    must(await tab.evaluate(() => window.injected === undefined), `${path}: a text became script`);
  }
  return `${known.size} links`;
});

await check('a cell of access leads to the decisions about the tools of a server', async () => {
  await tab.goto(`${address}/access`);
  await tab.click('#matrix td a[href*="agent_id=local&"][href$="server_id=notes"]');
  await tab.waitForSelector('#matrix th[scope=row]:has-text("notes.delete_note")');
  must((await tab.inputValue('input[name=server_id]')) === 'notes', 'the new rule is not about the server that is shown');
});

await check('a chain of requests is drawn, and what fits the filter is downloaded', async () => {
  await tab.goto(`${address}/record?server_id=notes`);
  await tab.click('#events tr:has-text("delete_note") td:nth-child(2) a');
  await tab.waitForSelector('#chain svg rect');
  const drawn = await tab.$$eval('#chain svg rect', (bars) => bars.map((bar) => bar.getBoundingClientRect().width));
  must(drawn.length === (await tab.$$('#events tbody tr')).length && drawn.every((width) => width > 0), `${drawn}`);
  const [download] = await Promise.all([tab.waitForEvent('download'), tab.click('a[download]')]);
  let text = '';
  for await (const piece of await download.createReadStream()) text += piece;
  const events = text.trimEnd().split('\n').map((line) => JSON.parse(line));
  must(download.suggestedFilename() === 'record.jsonl' && events.length === drawn.length, `${events.length} of ${drawn.length}`);
});

await check('a key is issued, shown once, and revoked where it stands', async () => {
  await tab.goto(`${address}/kernel`);
  await tab.fill('input[name=owner]', 'agent.key');
  await tab.click('button:has-text("Issue a key")');
  must((await tab.textContent('main')).includes('Shown only this once'), await tab.textContent('main'));
  await tab.click('main a:has-text("Back")');
  await tab.click('tr:has-text("agent.key") button:has-text("Revoke")');
  await tab.waitForSelector('text=There are no keys.');
});

await check('axe finds nothing on a chain and on the access of one agent', async () => {
  const shown = await browser.newContext({ storageState: await context.storageState(), bypassCSP: true });
  const seen = await page(shown);
  await seen.goto(`${address}/record?server_id=notes`);
  const chain = await seen.getAttribute('#events td:nth-child(2) a', 'href');
  for (const path of [chain, '/access?agent_id=local&server_id=notes']) {
    await seen.goto(address + path);
    await seen.addScriptTag({ path: axe });
    const { violations } = await seen.evaluate(() => window.axe.run());
    must(violations.length === 0, `${path}: ${violations.map((fault) => `${fault.id} at ${fault.nodes[0].target}`).join('; ')}`);
  }
  await shown.close();
});

await check('everything works without a script', async () => {
  const plain = await browser.newContext({ javaScriptEnabled: false, storageState: await context.storageState() });
  const seen = await plain.newPage();
  waiting = call('notes__delete_note', { number: 2 });
  await until('the question', async () => {
    await seen.goto(address);
    return (await seen.$('article.card a')) !== null;
  });
  await seen.click('article.card a');
  await seen.fill('input[name=reason]', 'keep this one');
  await seen.click('text=Deny');
  await seen.waitForURL((url) => url.pathname === '/');
  must((await waiting).includes('keep this one'), await waiting);
  await seen.goto(`${address}/tools/notes.list_notes`);
  await seen.click('button:has-text("Call it")');
  must((await seen.textContent('main')).includes('done list_notes'), await seen.textContent('main'));
  await plain.close();
});

await check('a server is added from a pasted configuration, and no value of it shows', async () => {
  const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';
  const entry = { command: process.execPath, args: [script, 'server'], env: { NOTES_TOKEN: secret } };
  await tab.goto(`${address}/servers`);
  await tab.fill('textarea[name=pasted]', JSON.stringify({ mcpServers: { pasted: entry } }));
  await tab.click('main button:has-text("Add")');
  await tab.waitForSelector('a[href="/servers/pasted"]');
  await until('its tool answers', async () => (await call('pasted__list_notes', {})).includes('done list_notes'));
  for (const path of ['/kernel', '/record?server_id=pasted', '/servers/pasted']) {
    await tab.goto(address + path);
    must(!(await tab.content()).includes(secret), `${path} shows the value of a variable`);
  }
  must((await tab.textContent('main')).includes('NOTES_TOKEN'), 'the name of the variable is not shown');
  must((await tab.$$('svg.day a')).length >= 2, 'the hour of the call is in no picture');
  must(await tab.evaluate(() => window.injected === undefined), 'a text became script');
  await tab.screenshot({ path: join(folder, 'server.png'), fullPage: true });
});

await check('a page and all that it loads stay under 100 KB', async () => {
  const fresh = await page(await browser.newContext({ storageState: await context.storageState() }));
  await fresh.goto(address, { waitUntil: 'load' });
  const bytes = await fresh.evaluate(() => {
    const loaded = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
    return loaded.reduce((sum, entry) => sum + entry.decodedBodySize, 0);
  });
  await fresh.close();
  must(bytes > 1_000 && bytes < 100_000, `${bytes} bytes`);
  return `${bytes} bytes`;
});

await check('a page that outlives its kernel says so, and keeps what was typed', async () => {
  await tab.goto(`${address}/access`);
  await tab.fill('input[name=agent_id]', 'agent.typed');
  await stop();
  await tab.waitForSelector('#lost:not([hidden])');
  must((await tab.inputValue('input[name=agent_id]')) === 'agent.typed', 'what was typed is gone');
  await start();
});

await check('nothing of the page is refused by its own rules', async () => {
  must(faults.length === 0, faults.join('; '));
});

await browser.close();
await stop();
const failed = checks.filter(([, , said]) => said.startsWith('FAILED'));
console.log(`${checks.length - failed.length} of ${checks.length} checks passed; pictures are in ${folder}`);
process.exit(failed.length === 0 ? 0 : 1);

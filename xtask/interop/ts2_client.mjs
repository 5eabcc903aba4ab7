// TypeScript SDK 2.x as the client: node ts2_client.mjs stdio|http|sse auto|legacy|modern COMMAND…|URL

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { aborted, expect, inOrder, run, text } from './checks.mjs';

const [transport, era, ...target] = process.argv.slice(2);
const mode = era === 'modern' ? { pin: '2026-07-28' } : era;
const client = new Client(
    { name: 'ts2', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
);
client.setRequestHandler('elicitation/create', async request => {
    const asked = Object.keys(request.params.requestedSchema.properties);
    const answers = { name: 'ada', username: 'ada', email: 'ada@example.com' };
    return { action: 'accept', content: Object.fromEntries(asked.map(key => [key, answers[key]])) };
});

const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, options);
const simple = async () => expect(text(await call('test_simple_text')), 'This is a simple text response for testing.');
let modern;

await run({
    connect: async () => {
        await client.connect(
            transport === 'stdio'
                ? new StdioClientTransport({ command: target[0], args: target.slice(1) })
                : transport === 'http'
                  ? new StreamableHTTPClientTransport(new URL(target[0]))
                  : new SSEClientTransport(new URL(target[0])),
        );
        const version = client.getNegotiatedProtocolVersion();
        modern = version >= '2026';
        if (era !== 'auto') expect(modern, era === 'modern');
        return version;
    },
    'tools/list': async () => `${(await client.listTools()).tools.length} tools`,
    'tools/call': simple,
    progress: async () => {
        const seen = [];
        await call('test_tool_with_progress', {}, { onprogress: p => seen.push(p.progress) });
        return inOrder(seen, [0, 50, 100]);
    },
    cancel: async () => {
        const controller = new AbortController();
        const work = call('slow_compute', { seconds: 30, label: 'slow' }, { signal: controller.signal });
        await aborted(work, controller);
        return simple();
    },
    elicitation: async () => {
        if (modern) return expect(text(await call('test_input_required_result_elicitation')), 'Hello, ada!');
        const answer = text(await call('test_elicitation', { message: 'Who are you?' }));
        return expect(answer.includes('ada'), true) && answer;
    },
    'resources/list': async () => `${(await client.listResources()).resources.length} resources`,
    'resources/read': async () => {
        const read = await client.readResource({ uri: 'test://static-text' });
        return expect(read.contents[0].text, 'This is the content of the static text resource.');
    },
    'prompts/get': async () => {
        const prompt = await client.getPrompt({ name: 'test_simple_prompt' });
        return expect(prompt.messages[0].content.text, 'This is a simple prompt for testing.');
    },
    close: () => client.close(),
});

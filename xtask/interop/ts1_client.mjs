// TypeScript SDK 1.x as the client: node ts1_client.mjs stdio|http|sse ERA COMMAND…|URL

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { aborted, expect, inOrder, run, text } from './checks.mjs';

const [transport, , ...target] = process.argv.slice(2);
const client = new Client({ name: 'ts1', version: '1' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async () => ({
    action: 'accept',
    content: { username: 'ada', email: 'ada@example.com' },
}));

const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options);
const simple = async () => expect(text(await call('test_simple_text')), 'This is a simple text response for testing.');

await run({
    connect: async () => {
        await client.connect(
            transport === 'stdio'
                ? new StdioClientTransport({ command: target[0], args: target.slice(1) })
                : transport === 'http'
                  ? new StreamableHTTPClientTransport(new URL(target[0]))
                  : new SSEClientTransport(new URL(target[0])),
        );
        return client.getServerVersion().name;
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

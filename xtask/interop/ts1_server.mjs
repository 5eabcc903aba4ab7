// TypeScript SDK 1.x as the server: node ts1_server.mjs stdio | http PORT (/mcp) | sse PORT (/sse, /message)

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const say = text => ({ content: [{ type: 'text', text }] });

function make() {
    const server = new McpServer({ name: 'ts1', version: '1' });
    server.registerTool('test_simple_text', { description: 'Answers with a text.' }, async () =>
        say('This is a simple text response for testing.'),
    );
    server.registerTool('test_tool_with_progress', { description: 'Reports its progress.' }, async extra => {
        const progressToken = extra._meta?.progressToken;
        for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
            await extra.sendNotification({
                method: 'notifications/progress',
                params: { progressToken, progress, total: 100 },
            });
        }
        return say('done');
    });
    const slow = { seconds: z.number(), label: z.string() };
    server.registerTool('slow_compute', { description: 'Takes its time.', inputSchema: slow }, async (args, extra) => {
        await new Promise(done => {
            const timer = setTimeout(done, args.seconds * 1000);
            extra.signal.addEventListener('abort', () => (clearTimeout(timer), done()));
        });
        return say(args.label);
    });
    const ask = { message: z.string() };
    server.registerTool('test_elicitation', { description: 'Asks the user.', inputSchema: ask }, async ({ message }) => {
        const requestedSchema = {
            type: 'object',
            properties: { username: { type: 'string' }, email: { type: 'string' } },
            required: ['username', 'email'],
        };
        const answer = await server.server.elicitInput({ message, requestedSchema });
        return say(`User response: ${JSON.stringify(answer)}`);
    });
    server.registerResource('static-text', 'test://static-text', { description: 'A text.' }, async uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
    }));
    server.registerPrompt('test_simple_prompt', { description: 'A prompt.' }, async () => ({
        messages: [{ role: 'user', content: { type: 'text', text: 'This is a simple prompt for testing.' } }],
    }));
    return server;
}

const sessions = new Map();

async function streamable(request, response) {
    const session = sessions.get(request.headers['mcp-session-id']);
    if (session) return session.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => sessions.set(id, transport),
    });
    await make().connect(transport);
    await transport.handleRequest(request, response);
}

async function sse(request, response) {
    const url = new URL(request.url, 'http://localhost');
    if (url.pathname === '/message') {
        return sessions.get(url.searchParams.get('sessionId')).handlePostMessage(request, response);
    }
    const transport = new SSEServerTransport('/message', response);
    sessions.set(transport.sessionId, transport);
    await make().connect(transport);
}

const [mode, port] = process.argv.slice(2);
if (mode === 'stdio') await make().connect(new StdioServerTransport());
else createServer(mode === 'http' ? streamable : sse).listen(Number(port), '127.0.0.1');

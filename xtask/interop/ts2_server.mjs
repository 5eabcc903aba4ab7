// TypeScript SDK 2.x as the server, both eras: node ts2_server.mjs stdio | http PORT (/mcp)

import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const say = text => ({ content: [{ type: 'text', text }] });

function make() {
    const server = new McpServer({ name: 'ts2', version: '1' });
    server.registerTool('test_simple_text', { description: 'Answers with a text.' }, async () =>
        say('This is a simple text response for testing.'),
    );
    server.registerTool('test_tool_with_progress', { description: 'Reports its progress.' }, async context => {
        const progressToken = context.mcpReq._meta?.progressToken;
        for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
            await context.mcpReq.notify({
                method: 'notifications/progress',
                params: { progressToken, progress, total: 100 },
            });
        }
        return say('done');
    });
    const slow = z.object({ seconds: z.number(), label: z.string() });
    server.registerTool('slow_compute', { description: 'Takes its time.', inputSchema: slow }, async (args, context) => {
        await new Promise(done => {
            const timer = setTimeout(done, args.seconds * 1000);
            context.mcpReq.signal.addEventListener('abort', () => (clearTimeout(timer), done()));
        });
        return say(args.label);
    });
    // The SDK turns a required input into a pushed request for clients of the older era.
    const person = z.object({ username: z.string(), email: z.string() });
    const ask = z.object({ message: z.string() });
    server.registerTool('test_elicitation', { description: 'Asks.', inputSchema: ask }, async ({ message }, context) => {
        const answer = acceptedContent(context.mcpReq.inputResponses, 'user', person);
        if (answer) return say(`User response: ${JSON.stringify(answer)}`);
        return inputRequired({ inputRequests: { user: inputRequired.elicit({ message, requestedSchema: person }) } });
    });
    const named = z.object({ name: z.string() });
    const greet = { description: 'Asks for a name.' };
    server.registerTool('test_input_required_result_elicitation', greet, async context => {
        const answer = acceptedContent(context.mcpReq.inputResponses, 'user_name', named);
        if (answer) return say(`Hello, ${answer.name}!`);
        const question = inputRequired.elicit({ message: 'What is your name?', requestedSchema: named });
        return inputRequired({ inputRequests: { user_name: question } });
    });
    server.registerResource('static-text', 'test://static-text', { description: 'A text.' }, async uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
    }));
    server.registerPrompt('test_simple_prompt', { description: 'A prompt.' }, async () => ({
        messages: [{ role: 'user', content: { type: 'text', text: 'This is a simple prompt for testing.' } }],
    }));
    return server;
}

const [mode, port] = process.argv.slice(2);
if (mode === 'stdio') serveStdio(make);
else createServer(toNodeHandler(createMcpHandler(make))).listen(Number(port), '127.0.0.1');

// As agent_loops.py, in the loop of the AI SDK: agents.mjs stdio|http COMMAND…|URL

import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as Stdio } from '@ai-sdk/mcp/mcp-stdio';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { expect, run } from './checks.mjs';

const [transport, ...target] = process.argv.slice(2);
const seen = [];

/** The text of an output that the prompt of a model holds. */
function text({ type, value }) {
    if (type === 'content') return value[0].text;
    return type === 'text' ? value : (value.content?.[0]?.text ?? JSON.stringify(value));
}

const doGenerate = async ({ prompt, tools }) => {
    const outputs = prompt.filter(m => m.role === 'tool').flatMap(m => m.content).map(part => text(part.output));
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    if (outputs.length > 1) {
        const content = [{ type: 'text', text: outputs.at(-1) }];
        return { content, finishReason: { unified: 'stop' }, usage, warnings: [] };
    }
    let toolName = 'mgp_tools_discover';
    let input = { query: 'evaluate an arithmetic expression', max_results: 3 };
    if (outputs.length === 1) {
        const name = JSON.parse(outputs[0]).tools[0].name;
        const isListed = tools.some(tool => tool.name === name);
        input = { expression: '6*7' };
        toolName = isListed ? name : 'mgp_tools_call';
        if (!isListed) input = { name, arguments: input };
    }
    seen.push(toolName);
    const content = [{ type: 'tool-call', toolCallId: `call-${outputs.length}`, toolName, input: JSON.stringify(input) }];
    return { content, finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
};

async function answer() {
    const [command, ...args] = target;
    const way = transport === 'stdio' ? new Stdio({ command, args, env: process.env }) : { type: 'http', url: command };
    const client = await createMCPClient({ transport: way });
    const model = new MockLanguageModelV3({ doGenerate });
    const answer = await generateText({ model, tools: await client.tools(), prompt: 'What is 6*7?', stopWhen: stepCountIs(4) });
    await client.close();
    return expect(answer.text, 'The result is 42.');
}

await run({
    'tools/call': answer,
    'tools/list': async () => expect(seen.join(' '), 'mgp_tools_discover mgp_tools_call'),
});

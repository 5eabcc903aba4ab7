// The TypeScript SDK, which rejects a list with one bad definition: node strict_lists.mjs COMMAND…

import { readFileSync } from 'node:fs';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { expect, run, text } from './checks.mjs';

const [command, ...args] = process.argv.slice(2);
const lists = JSON.parse(readFileSync(new URL('strict_lists.json', import.meta.url)));
const client = new Client({ name: 'strict', version: '1' });

const listed = (method, member, prefix = '') => async () => {
    const names = (await client[method]())[member].map(item => item.name).filter(name => name.startsWith(prefix));
    const wanted = lists[member].listed.map(item => prefix + (item.name ?? item.uri));
    return expect(names.sort().join(), wanted.sort().join());
};

await run({
    connect: async () => await client.connect(new StdioClientTransport({ command, args })),
    'tools/list': listed('listTools', 'tools', 'strict__'),
    'tools/call': async () => expect(text(await client.callTool({ name: 'strict__untyped', arguments: {} })), 'good'),
    'prompts/list': listed('listPrompts', 'prompts', 'strict__'),
    'resources/list': listed('listResources', 'resources'),
    'resources/templates/list': listed('listResourceTemplates', 'resourceTemplates'),
});

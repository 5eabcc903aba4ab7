// The TypeScript SDK as the OAuth client: node oauth_ts.mjs 1|2 URL

import { expect, run, text } from './checks.mjs';

const [sdk, target] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport, UnauthorizedError } =
    sdk === '1'
        ? {
              ...(await import('@modelcontextprotocol/sdk/client/index.js')),
              ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
              ...(await import('@modelcontextprotocol/sdk/client/auth.js')),
          }
        : await import('@modelcontextprotocol/client');

const redirectUrl = 'http://127.0.0.1:9/callback';
const kept = {};
let answer, tool;

const authProvider = {
    redirectUrl,
    clientMetadata: {
        client_name: `ts${sdk}`,
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
    },
    state: () => 'a-state-of-this-client',
    clientInformation: () => kept.client,
    saveClientInformation: client => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: tokens => void (kept.tokens = tokens),
    saveCodeVerifier: verifier => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    saveDiscoveryState: state => void (kept.discovery = state),
    discoveryState: () => kept.discovery,
    redirectToAuthorization: async page => void (answer = await follow(page)),
};

/** Goes where a page leads, with cookies, until it leads back to this client. */
async function follow(page) {
    const cookies = new Map();
    for (let url = new URL(page), step = 0; step < 20; step += 1) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const reply = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} });
        for (const line of reply.headers.getSetCookie()) {
            const [name, value] = line.split(';')[0].split(/=(.*)/);
            cookies.set(name, value);
        }
        const location = reply.headers.get('location');
        if (!location) throw new Error(`the page ends with ${reply.status}: ${await reply.text()}`);
        url = new URL(location, url);
        if (url.href.startsWith(redirectUrl)) return url.searchParams;
    }
    throw new Error('the page leads nowhere');
}

const transport = () => new StreamableHTTPClientTransport(new URL(target), { authProvider });
const client = new Client({ name: `ts${sdk}`, version: '1' });

await run({
    login: async () => {
        const first = transport();
        try {
            await client.connect(first);
        } catch (error) {
            if (!(error instanceof UnauthorizedError)) throw error;
        }
        expect(answer.get('state'), 'a-state-of-this-client');
        await first.finishAuth(sdk === '1' ? answer.get('code') : answer);
        return expect(kept.tokens.token_type.toLowerCase(), 'bearer');
    },
    connect: () => client.connect(transport()),
    // A gateway puts the server's name in front.
    'tools/list': async () => {
        const { tools } = await client.listTools();
        tool = tools.find(tool => tool.name.endsWith('test_simple_text')).name;
        return `${tools.length} tools`;
    },
    'tools/call': async () => {
        const said = text(await client.callTool({ name: tool, arguments: {} }));
        return expect(said, 'This is a simple text response for testing.');
    },
    close: () => client.close(),
});

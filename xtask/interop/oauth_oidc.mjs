// `oidc-provider` as the authorization server: node oauth_oidc.mjs PORT. Alice consents to everything.

import { generateKeyPairSync, randomBytes } from 'node:crypto';

import Provider from 'oidc-provider';

const port = Number(process.argv[2]);
const made = (alg, kind, options) => {
    const { privateKey } = generateKeyPairSync(kind, options);
    return { ...privateKey.export({ format: 'jwk' }), kid: alg, use: 'sig', alg };
};
// A client that says nothing gets its id tokens by RS256.
const keys = [made('ES256', 'ec', { namedCurve: 'P-256' }), made('RS256', 'rsa', { modulusLength: 2048 })];

const provider = new Provider(`http://127.0.0.1:${port}`, {
    jwks: { keys },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    scopes: ['mgp:use', 'offline_access'],
    findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    // These clients have no OpenID Connect in mind.
    issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
    features: {
        devInteractions: { enabled: false },
        registration: { enabled: true },
        dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true },
        resourceIndicators: {
            enabled: true,
            useGrantedResource: () => true,
            getResourceServerInfo: (_, resource) => ({
                scope: 'mgp:use',
                audience: resource,
                accessTokenFormat: 'jwt',
                accessTokenTTL: 300,
                jwt: { sign: { alg: 'ES256' } },
            }),
        },
    },
});

provider.use(async (context, next) => {
    if (!context.path.startsWith('/interaction/')) return next();
    const { params, prompt } = await provider.interactionDetails(context.req, context.res);
    const result = prompt.name === 'login' ? { login: { accountId: 'alice' } } : { consent: { grantId: await grant(params) } };
    await provider.interactionFinished(context.req, context.res, result, { mergeWithLastSubmission: true });
    context.respond = false;
});

async function grant({ client_id: clientId, resource, scope }) {
    const grant = new provider.Grant({ accountId: 'alice', clientId });
    grant.addOIDCScope(scope ?? '');
    if (resource) grant.addResourceScope(resource, scope ?? '');
    return grant.save();
}

provider.listen(port, '127.0.0.1');

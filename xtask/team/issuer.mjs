// `oidc-provider` as the identity provider of a team: node issuer.mjs PORT PEOPLE SECRET. Each of the people is a client with
// this secret, and is in the groups that a company would have.

import { generateKeyPairSync, randomBytes } from 'node:crypto';

import Provider from 'oidc-provider';

const [port, people] = process.argv.slice(2, 4).map(Number);
const secret = process.argv[4];
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = { ...privateKey.export({ format: 'jwk' }), kid: 'team', use: 'sig', alg: 'ES256' };

const groups = (id) => {
    const number = Number(id.slice('person-'.length));
    return ['everyone', ['payments', 'support', 'research', 'sales'][number % 4]];
};

const provider = new Provider(`http://127.0.0.1:${port}`, {
    jwks: { keys: [key] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    scopes: ['mgp:use'],
    clients: Array.from({ length: people }, (_, number) => ({
        client_id: `person-${number}`,
        client_secret: secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: 'client_secret_post',
        id_token_signed_response_alg: 'ES256',
    })),
    extraTokenClaims: (_, token) => ({ groups: groups(token.clientId) }),
    features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
            enabled: true,
            getResourceServerInfo: (_, resource) => ({
                scope: 'mgp:use',
                audience: resource,
                accessTokenFormat: 'jwt',
                accessTokenTTL: 600,
                jwt: { sign: { alg: 'ES256' } },
            }),
        },
    },
});

provider.listen(port, '127.0.0.1');

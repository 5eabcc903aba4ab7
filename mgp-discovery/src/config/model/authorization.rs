//! The tables of authorization: `[listen.tls]`, `[listen.oauth]`, the tokens of agents, `[ui.oauth]`, and
//! `[servers.oauth]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tables::tables;

/// The certificate with which the kernel serves HTTPS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ListenTls {
    /// The file of the certificate, with those that lead to its authority, in PEM. A new one is taken within half a
    /// minute.
    pub certificate: String,
    /// The path of the certificate's private key, in PEM.
    pub key: String,
    /// The file of the authorities, in PEM, by one of which every client then needs a certificate; none needs one if
    /// left out.
    pub client_ca: Option<String>,
}

tables! {
    /// The tokens that clients may show in place of keys: those of OAuth 2.1, from the named issuers.
    pub struct ListenOauth: Debug, Eq {
        /// The identity providers whose tokens are accepted.
        pub issuers: Vec<TokenIssuer>,
        /// The scopes that every token needs, such as `mgp:use`.
        pub scopes: Vec<String>,
        /// The use of DPoP, by which a token is bound to a key of its client.
        pub dpop: DpopUse,
        /// The path of further authorities, in PEM, for certificates of identity providers.
        pub ca: Option<String>,
    }

    /// The agents that come with tokens of an issuer.
    pub enum TokenAgents: Default {
        /// Only agents that are listed with the subject of the token.
        #[default]
        Listed,
        /// Agents that are listed and, for each other subject, an agent called `oauth/ISSUER/SUBJECT`: the issuer
        /// without `https://`, and both with `%` and two digits for all but letters, digits, `-`, `_` and the dots of
        /// the issuer. It has the access of everybody and of its groups.
        Any,
    }

    /// The use of DPoP.
    pub enum DpopUse: Default {
        /// Only tokens that are bound to a key need its proof.
        #[default]
        Accepted,
        /// Every token has to be bound to a key, and each proof needs a nonce of the kernel.
        Required,
    }

    /// How the kernel authorizes itself at a server over HTTP.
    pub struct ServerOauth: Eq {
        /// The way to a token.
        pub grant: ServerGrant,
        /// The issuer of the server's tokens, which alone sees the credentials below; the one that the server names if
        /// left out.
        pub issuer: Option<String>,
        /// The kernel's id at the issuer, or the `https` URL of a document that describes the kernel; if left out, the
        /// kernel registers itself.
        pub client_id: Option<String>,
        /// The secret that belongs to `client_id`, best as `${secret:NAME}`.
        pub client_secret: Option<String>,
        /// The private key (PEM: elliptic, Ed25519 or RSA) by which the kernel proves its `client_id`, in place of a
        /// secret; best as `${secret:NAME}`.
        pub private_key: Option<String>,
        /// The scopes to ask for; those that the server names if left out.
        pub scopes: Vec<String>,
        /// The file of the platform's token for `workload_identity`, read each time.
        pub token_file: Option<String>,
        /// Binds tokens to a key of the kernel (DPoP).
        pub dpop: bool,
        /// The port at which `mgp login` waits for the browser; any free one if left out.
        pub redirect_port: Option<u16>,
        /// The path of further authorities, in PEM, for the certificate of the issuer.
        pub ca: Option<String>,
    }

    /// The way to a token of a server.
    pub enum ServerGrant: Default {
        /// A person signs in, once, with `mgp login`.
        #[default]
        Login,
        /// The kernel asks for it with its own credentials.
        ClientCredentials,
        /// The kernel exchanges the agent's token, which `issuer` alone sees, for one of the server (RFC 8693).
        TokenExchange,
        /// The platform says who the kernel is, by the token in `token_file`.
        WorkloadIdentity,
    }
}

/// An identity provider, and how its tokens are verified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TokenIssuer {
    /// The issuer, exactly as its tokens and metadata name it. Its host may be private; others in its metadata have to
    /// be public.
    pub issuer: String,
    /// The algorithms by which its tokens may be signed; RS256, ES256 and EdDSA if left out.
    #[serde(default)]
    pub algorithms: Vec<String>,
    /// The way to ask the issuer about tokens that say nothing themselves.
    pub introspection: Option<TokenIntrospection>,
    /// The agents that come with its tokens.
    #[serde(default)]
    pub agents: TokenAgents,
}

/// The way to ask an issuer about a token (RFC 7662).
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TokenIntrospection {
    /// The URL to ask.
    pub url: String,
    /// The id of this kernel at the issuer.
    pub client_id: String,
    /// The secret of this kernel at the issuer, best as `${secret:NAME}`.
    pub client_secret: String,
}

mgp_types::partial_debug!(TokenIntrospection, self => url: self.url, client_id: self.client_id);

/// The tokens with which an agent comes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AgentToken {
    /// The issuer, as `listen.oauth.issuers` names it.
    pub issuer: String,
    /// The subject (`sub`) of the token.
    pub subject: String,
}

/// The login of people at the page by an identity provider of `[listen.oauth]`, where the page is served by HTTPS. The
/// provider has to know the redirect URI `/login/callback` below the address of the page.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PageOauth {
    /// The issuer, exactly as `listen.oauth.issuers` names it; the only one there if left out.
    pub issuer: Option<String>,
    /// The id of the page at the issuer.
    pub client_id: String,
    /// The secret that belongs to `client_id`, best as `${secret:NAME}`; a public client has none.
    pub client_secret: Option<String>,
    /// The scopes to ask for, besides those in `[listen.oauth]`.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The groups whose members decide, such as `@payments-admins`: by the claims of their tokens, or listed as
    /// `oauth/ISSUER/SUBJECT`. Signing in counts as the operator passphrase, for an hour at most.
    #[serde(default)]
    pub operators: Vec<String>,
    /// The groups whose members see everything and decide nothing, unless they are operators, too.
    #[serde(default)]
    pub auditors: Vec<String>,
}

mgp_types::partial_debug!(PageOauth, self => issuer: self.issuer, client_id: self.client_id);

mgp_types::partial_debug!(ServerOauth, self => grant: self.grant, issuer: self.issuer, client_id: self.client_id);

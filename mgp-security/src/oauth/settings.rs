//! The settings of a verification of tokens.

use std::sync::Arc;

use mgp_types::Error;
use mgp_types::ext::scope::Scopes;

use super::cache::{OpenQuestions, TokenCache};
use super::holders::TokenHolders;
use super::issuer::{Issuer, IssuerKeys};
use super::proofs::{ProofJudge, ProofNonces, UsedProofs};
use super::resource_server::{FindPrincipal, KeepTokens, ResourceServer, ResourceServerParts, WELL_KNOWN};
use crate::Clock;
use crate::network::Fetcher;

/// The use of DPoP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpopPolicy {
    /// Tokens that are bound to a key need its proof, others do not.
    #[default]
    Accepted,
    /// Every token has to be bound to a key.
    Required,
}

/// The settings of a [`ResourceServer`].
pub struct ResourceServerSettings {
    /// The issuers whose tokens are accepted.
    pub issuers: Vec<Issuer>,
    /// The scopes that every token needs.
    pub required_scopes: Scopes,
    /// The use of DPoP.
    pub dpop: DpopPolicy,
    /// True if each proof has to carry a nonce that this process gave within the last minutes, so that none can be made
    /// beforehand. A sender without one is given one, and repeats its request.
    pub demands_nonces: bool,
    /// Says whether the token with which each principal came last is kept for [`token_of`](ResourceServer::token_of), in
    /// memory and while it holds. Default: no token is kept.
    pub keeps_tokens: Box<KeepTokens>,
    /// Finds who comes with a token of an issuer and a subject; nobody else comes with a token.
    pub principals: Box<FindPrincipal>,
    /// The clock. Default: that of the system.
    pub clock: Clock,
}

impl Default for ResourceServerSettings {
    fn default() -> Self {
        Self {
            issuers: Vec::new(),
            required_scopes: Scopes::new(),
            dpop: DpopPolicy::default(),
            demands_nonces: false,
            keeps_tokens: Box::new(|| false),
            principals: Box::new(|_, _| None),
            clock: Clock::system(),
        }
    }
}

impl ResourceServer {
    /// Creates the verification for `resource`, the URL by which clients know this server: the audience of their tokens.
    /// Issuers are asked by `fetcher`.
    ///
    /// # Errors
    /// The resource is no URL of HTTP, or the system has no random numbers.
    pub fn new(
        resource: &str,
        mut settings: ResourceServerSettings,
        fetcher: &Fetcher,
    ) -> Result<Self, Error> {
        let wrong = || Error::invalid_params("the resource of tokens is no URL of HTTP");
        let url = url::Url::parse(resource).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong());
        }
        let origin = url.origin().ascii_serialization();
        let path = url.path().trim_end_matches('/');
        let metadata_path = format!("{WELL_KNOWN}{path}");
        let nonces = settings.demands_nonces.then(ProofNonces::new).transpose()?;
        let issuers = std::mem::take(&mut settings.issuers)
            .into_iter()
            .map(|issuer| IssuerKeys::new(issuer, fetcher.clone()));
        Ok(Self(Arc::new(ResourceServerParts {
            metadata: format!("{origin}{metadata_path}").into(),
            metadata_path: metadata_path.into(),
            resource: resource.into(),
            issuers: issuers.map(Arc::new).collect(),
            questions: OpenQuestions::new(),
            settings,
            cache: TokenCache::default(),
            proofs: ProofJudge { origin: origin.into(), nonces, used: UsedProofs::default() },
            holders: TokenHolders::default(),
        })))
    }
}

mgp_types::partial_debug!(ResourceServerSettings, self => issuers: self.issuers);

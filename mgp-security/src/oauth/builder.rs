//! The settings of a verification of tokens.

use std::sync::Arc;

use mgp_types::ext::scope::Scopes;
use mgp_types::{Error, Principal};

use super::cache::TokenCache;
use super::holders::TokenHolders;
use super::issuer::{Issuer, IssuerKeys};
use super::nonces::ProofNonces;
use super::proofs::ProofJudge;
use super::questions::OpenQuestions;
use super::replay::UsedProofs;
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

/// Collects the settings of a [`ResourceServer`].
#[must_use]
pub struct ResourceServerBuilder {
    resource: Box<str>,
    issuers: Vec<Issuer>,
    required: Scopes,
    dpop: DpopPolicy,
    demands_nonces: bool,
    keeps_tokens: Box<KeepTokens>,
    principals: Box<FindPrincipal>,
    clock: Clock,
}

impl ResourceServerBuilder {
    pub(super) fn new(resource: Box<str>) -> Self {
        Self {
            resource,
            issuers: Vec::new(),
            required: Scopes::new(),
            dpop: DpopPolicy::default(),
            demands_nonces: false,
            keeps_tokens: Box::new(|| false),
            principals: Box::new(|_, _| None),
            clock: Clock::system(),
        }
    }

    /// Accepts the tokens of an issuer.
    pub fn issuer(mut self, issuer: Issuer) -> Self {
        self.issuers.push(issuer);
        self
    }

    /// Sets the scopes that every token needs.
    pub fn required_scopes(mut self, scopes: Scopes) -> Self {
        self.required = scopes;
        self
    }

    /// Sets the use of DPoP.
    pub fn dpop(mut self, dpop: DpopPolicy) -> Self {
        self.dpop = dpop;
        self
    }

    /// Demands that each proof carries a nonce that this process gave within the last minutes, so that none can be made
    /// beforehand. A sender without one is given one, and repeats its request.
    pub fn demand_nonces(mut self) -> Self {
        self.demands_nonces = true;
        self
    }

    /// Keeps the token with which each principal came last for [`token_of`](ResourceServer::token_of), in memory and while it
    /// holds, as long as `keeps` says so. Default: no token is kept.
    pub fn keep_tokens(mut self, keeps: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.keeps_tokens = Box::new(keeps);
        self
    }

    /// Sets who comes with a token of an issuer and a subject; nobody else comes with a token.
    pub fn principals(
        mut self,
        find: impl Fn(&str, &str) -> Option<Principal> + Send + Sync + 'static,
    ) -> Self {
        self.principals = Box::new(find);
        self
    }

    /// Sets the clock. Default: that of the system.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Creates the verification, which asks issuers by `fetcher`.
    ///
    /// # Errors
    /// The resource is no URL of HTTP, or the system has no random numbers.
    pub fn build(self, fetcher: &Fetcher) -> Result<ResourceServer, Error> {
        let wrong = || Error::invalid_params("the resource of tokens is no URL of HTTP");
        let url = url::Url::parse(&self.resource).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong());
        }
        let origin = url.origin().ascii_serialization();
        let path = url.path().trim_end_matches('/');
        let metadata_path = format!("{WELL_KNOWN}{path}");
        let nonces = self.demands_nonces.then(ProofNonces::new).transpose()?;
        let issuers = self.issuers.into_iter().map(|issuer| IssuerKeys::new(issuer, fetcher.clone()));
        Ok(ResourceServer(Arc::new(ResourceServerParts {
            metadata: format!("{origin}{metadata_path}").into(),
            metadata_path: metadata_path.into(),
            resource: self.resource,
            issuers: issuers.map(Arc::new).collect(),
            questions: OpenQuestions::new(),
            required: self.required,
            dpop: self.dpop,
            principals: self.principals,
            clock: self.clock,
            cache: TokenCache::default(),
            proofs: ProofJudge { origin: origin.into(), nonces, used: UsedProofs::default() },
            holders: TokenHolders::default(),
            keeps_tokens: self.keeps_tokens,
        })))
    }
}

mgp_types::partial_debug!(ResourceServerBuilder, self => resource: self.resource, issuers: self.issuers);

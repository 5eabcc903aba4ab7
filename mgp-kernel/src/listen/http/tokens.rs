//! The tokens by which clients come in, as `[listen.oauth]` says.

use std::fs;
use std::io;
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_discovery::config::ProcessEnvironment;
use mgp_discovery::config::model::{DpopUse, ListenOauth, TokenIssuer};
use mgp_security::jose::Algorithm;
use mgp_security::network::{Fetcher, NetworkPolicy};
use mgp_security::oauth::{DpopPolicy, Introspection, Issuer, ResourceServer};
use mgp_types::ext::scope::Scopes;
use mgp_types::{Principal, PrincipalKind};

use crate::running::RunningConfig;

/// Returns the verification of tokens; `None` if the configuration accepts none. Which agent comes with a token is looked up
/// in the configuration that holds when it comes.
///
/// # Errors
/// The configuration leads nowhere.
pub(super) fn accepted(running: &Arc<RunningConfig>) -> io::Result<Option<ResourceServer>> {
    let config = running.load_full();
    let Some(oauth) = &config.listen.oauth else { return Ok(None) };
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidInput, format!("`listen.oauth`: {why}"));
    let resource = config.listen.public_url.as_deref();
    let resource = resource.ok_or_else(|| wrong("`listen.public_url` is needed beside it".to_owned()))?;
    let dpop = match oauth.dpop {
        DpopUse::Required => DpopPolicy::Required,
        _ => DpopPolicy::Accepted,
    };
    let required = Scopes::read(&oauth.scopes).map_err(|error| wrong(error.to_string()))?;
    let agents = Arc::clone(running);
    let mut builder = ResourceServer::builder(resource)
        .required_scopes(required)
        .dpop(dpop)
        .keep_tokens()
        .principals(move |issuer, subject| holder(&agents.load(), issuer, subject));
    if oauth.dpop_nonces {
        builder = builder.demand_nonces();
    }
    for configured in &oauth.issuers {
        builder = builder.issuer(issuer(configured).map_err(wrong)?);
    }
    let server = builder.build(&fetcher(oauth).map_err(wrong)?);
    server.map(Some).map_err(|error| wrong(error.to_string()))
}

/// Returns the agent that comes with tokens of this issuer and subject.
fn holder(config: &Config, issuer: &str, subject: &str) -> Option<Principal> {
    let has = |agent: &&mgp_discovery::config::model::AgentSettings| {
        agent.tokens.iter().any(|token| token.issuer == issuer && token.subject == subject)
    };
    let agent = config.agents.iter().find(has)?;
    Some(Principal::of(PrincipalKind::KeyHolder, agent.id.as_str()))
}

fn issuer(configured: &TokenIssuer) -> Result<Issuer, String> {
    let mut issuer = Issuer::new(configured.issuer.as_str());
    if let Some(url) = &configured.jwks_uri {
        issuer = issuer.jwks_uri(url.as_str());
    }
    if !configured.algorithms.is_empty() {
        let named = configured.algorithms.iter().map(|name| name.parse::<Algorithm>());
        let algorithms: Result<Vec<_>, _> = named.collect();
        issuer = issuer.algorithms(algorithms.map_err(|_| "an algorithm is not known".to_owned())?);
    }
    if let Some(way) = &configured.introspection {
        let secret = way.expanded_secret(&ProcessEnvironment).map_err(|fault| fault.to_string())?;
        issuer = issuer.introspection(Introspection::new(
            way.url.as_str(),
            way.client_id.as_str(),
            secret.expose(),
        ));
    }
    Ok(issuer)
}

/// Returns what asks issuers: it reaches the public network, and the hosts that the configuration names.
fn fetcher(oauth: &ListenOauth) -> Result<Fetcher, String> {
    let named = oauth.issuers.iter().flat_map(|issuer| {
        let asked = issuer.introspection.as_ref().map(|way| way.url.as_str());
        [Some(issuer.issuer.as_str()), issuer.jwks_uri.as_deref(), asked].into_iter().flatten()
    });
    let policy = named.fold(NetworkPolicy::default(), NetworkPolicy::allow_host_of);
    let fetcher = Fetcher::new(policy).map_err(|error| error.to_string())?;
    match &oauth.ca {
        None => Ok(fetcher),
        Some(path) => {
            let pem = fs::read(path).map_err(|error| format!("`ca`, {path}: {error}"))?;
            fetcher.trust_pem(&pem).map_err(|error| format!("`ca`, {path}: {error}"))
        }
    }
}

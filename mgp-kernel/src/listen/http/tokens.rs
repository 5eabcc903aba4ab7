//! The tokens by which clients come in, as `[listen.oauth]` says.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use foldhash::quality::RandomState;
use mgp_discovery::Config;
use mgp_discovery::config::ProcessEnvironment;
use mgp_discovery::config::model::{DpopUse, ListenOauth, ServerGrant, ServerOauth, TokenIssuer};
use mgp_security::jose::Algorithm;
use mgp_security::network::{Fetcher, NetworkPolicy};
use mgp_security::oauth::{DpopPolicy, Introspection, Issuer, ResourceServer, ResourceServerSettings};
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
    let required_scopes = Scopes::read(&oauth.scopes).map_err(|error| wrong(error.to_string()))?;
    let found = ArcSwap::from_pointee(FoundAgents::of(Arc::clone(&config)));
    let agents = Arc::new(TokenAgents { found, running: Arc::clone(running) });
    let servers = Arc::clone(&agents);
    let settings = ResourceServerSettings {
        issuers: oauth.issuers.iter().map(issuer).collect::<Result<_, _>>().map_err(wrong)?,
        required_scopes,
        dpop,
        demands_nonces: oauth.dpop == DpopUse::Required,
        keeps_tokens: Box::new(move || servers.now().exchanges),
        principals: Box::new(move |issuer, subject| {
            agents.now().of_issuers.get(issuer)?.get(subject).cloned()
        }),
        ..ResourceServerSettings::default()
    };
    let server = ResourceServer::new(resource, settings, &fetcher(oauth).map_err(wrong)?);
    server.map(Some).map_err(|error| wrong(error.to_string()))
}

/// The agents that come with tokens, as the configuration has them that is in effect.
struct TokenAgents {
    running: Arc<RunningConfig>,
    found: ArcSwap<FoundAgents>,
}

/// The agents of one configuration, by the issuers and the subjects of their tokens.
struct FoundAgents {
    config: Arc<Config>,
    of_issuers: HashMap<Box<str>, HashMap<Box<str>, Principal, RandomState>, RandomState>,
    /// True if tokens of agents are exchanged for those of a server.
    exchanges: bool,
}

impl TokenAgents {
    /// Returns what the configuration says now.
    fn now(&self) -> Guard<Arc<FoundAgents>> {
        let (found, running) = (self.found.load(), self.running.load());
        if Arc::ptr_eq(&found.config, &running) {
            return found;
        }
        let renewed = Arc::new(FoundAgents::of(Arc::clone(&running)));
        self.found.store(Arc::clone(&renewed));
        Guard::from_inner(renewed)
    }
}

impl FoundAgents {
    fn of(config: Arc<Config>) -> Self {
        let mut of_issuers = HashMap::<Box<str>, HashMap<_, _, RandomState>, RandomState>::default();
        for agent in &config.agents {
            for token in &agent.tokens {
                let principal = Principal::of(PrincipalKind::KeyHolder, agent.id.as_str());
                let of_issuer = of_issuers.entry(token.issuer.as_str().into()).or_default();
                // The first agent has it, as in the file.
                of_issuer.entry(token.subject.as_str().into()).or_insert(principal);
            }
        }
        let is_exchanging = |oauth: &ServerOauth| oauth.grant == ServerGrant::TokenExchange;
        let exchanges = config.servers.iter().any(|server| server.oauth.as_ref().is_some_and(is_exchanging));
        Self { config, of_issuers, exchanges }
    }
}

fn issuer(configured: &TokenIssuer) -> Result<Issuer, String> {
    let mut issuer = Issuer::new(configured.issuer.as_str());
    if !configured.algorithms.is_empty() {
        let named = configured.algorithms.iter().map(|name| name.parse::<Algorithm>());
        let algorithms: Result<Vec<_>, _> = named.collect();
        issuer.algorithms = algorithms.map_err(|_| "an algorithm is not known".to_owned())?;
    }
    if let Some(way) = &configured.introspection {
        let secret = way.expanded_secret(&ProcessEnvironment).map_err(|fault| fault.to_string())?;
        issuer.introspection = Some(Introspection {
            url: way.url.as_str().into(),
            client_id: way.client_id.as_str().into(),
            client_secret: secret.expose().into(),
        });
    }
    Ok(issuer)
}

/// Returns what asks issuers: it reaches the public network, and the hosts that the configuration names.
fn fetcher(oauth: &ListenOauth) -> Result<Fetcher, String> {
    let named = oauth.issuers.iter().flat_map(|issuer| {
        let asked = issuer.introspection.as_ref().map(|way| way.url.as_str());
        [Some(issuer.issuer.as_str()), asked].into_iter().flatten()
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

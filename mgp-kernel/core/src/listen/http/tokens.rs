//! The tokens by which clients come in, as `[listen.oauth]` says.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use foldhash::quality::RandomState;
use mgp_discovery::Config;
use mgp_discovery::config::model::{
    DpopUse, ListenOauth, ServerGrant, ServerOauth, TokenAgents, TokenIssuer,
};
use mgp_security::auth::TOKEN_AGENTS;
use mgp_security::jose::Algorithm;
use mgp_security::network::{Fetcher, NetworkPolicy};
use mgp_security::oauth::{DpopPolicy, Introspection, Issuer, ResourceServer, ResourceServerSettings};
use mgp_types::ext::scope::Scopes;
use mgp_types::{AgentGroups, Principal, PrincipalKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::settings::running::{AcceptedConfig, RunningConfig};

/// Returns the verification of tokens; `None` if the configuration accepts none. Which agent comes with a token is looked up
/// in the configuration that holds when it comes.
///
/// # Errors
/// The configuration leads nowhere.
pub(super) fn accepted(
    running: &Arc<RunningConfig>,
    groups: &AgentGroups,
) -> io::Result<Option<ResourceServer>> {
    let config = running.load_full();
    let Some(oauth) = &config.listen.oauth else { return Ok(None) };
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidInput, format!("`listen.oauth`: {why}"));
    let resource = config.listen.public_url.as_deref();
    let resource = resource.ok_or_else(|| wrong("`listen.public_url` is needed beside it".to_owned()))?;
    let needs_proof = oauth.dpop == DpopUse::Required;
    let required_scopes = Scopes::read(&oauth.scopes).map_err(|error| wrong(error.to_string()))?;
    let found = ArcSwap::from_pointee(FoundAgents::of(Arc::clone(&config)));
    let agents = Arc::new(AgentLookup { found, running: Arc::clone(running) });
    let servers = Arc::clone(&agents);
    let issuers = oauth.issuers.iter().map(|configured| issuer(configured, &running.accepted));
    let settings = ResourceServerSettings {
        issuers: issuers.collect::<Result<_, _>>().map_err(wrong)?,
        required_scopes,
        dpop: if needs_proof { DpopPolicy::Required } else { DpopPolicy::Accepted },
        demands_nonces: needs_proof,
        keeps_tokens: Box::new(move || servers.now().exchanges),
        principals: Box::new(move |issuer, subject| agents.now().principal(issuer, subject)),
        groups: groups.clone(),
        ..ResourceServerSettings::default()
    };
    let server = ResourceServer::new(resource, settings, &fetcher(oauth).map_err(wrong)?);
    server.map(Some).map_err(|error| wrong(error.to_string()))
}

/// The agents that come with tokens, as the configuration has them that is in effect.
struct AgentLookup {
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

impl AgentLookup {
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

    /// Returns who comes with a token of this issuer and subject: the agent that is listed with it or, where the issuer's
    /// agents need not be, one that is named after both.
    fn principal(&self, issuer: &str, subject: &str) -> Option<Principal> {
        let listed = self.of_issuers.get(issuer).and_then(|subjects| subjects.get(subject));
        listed.cloned().or_else(|| {
            let mut issuers = self.config.listen.oauth.as_ref()?.issuers.iter();
            issuers.find(|known| known.issuer == issuer && known.agents == TokenAgents::Any)?;
            Some(Principal::of(PrincipalKind::KeyHolder, unlisted_agent(issuer, subject)?))
        })
    }
}

/// Returns the name of the agent, or the operator, of a subject that is not listed: nobody else has it, as it begins with a
/// [reserved](mgp_security::auth::reserved_owner) part and encodes all that could end another part. Returns `None` for a
/// name that is too long to be an agent's.
pub(in crate::listen) fn unlisted_agent(issuer: &str, subject: &str) -> Option<String> {
    let issuer = utf8_percent_encode(issuer.strip_prefix("https://").unwrap_or(issuer), OF_ISSUER);
    let name = format!("{TOKEN_AGENTS}/{issuer}/{}", utf8_percent_encode(subject, OF_SUBJECT));
    (name.len() <= LONGEST_NAME).then_some(name)
}

/// The characters that are encoded in the name of an issuer, and those in a subject, whose dots would divide the name.
const OF_ISSUER: &AsciiSet = &OF_SUBJECT.remove(b'.');
const OF_SUBJECT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');
/// The largest length of the name of an agent that access entries can be about, in bytes.
const LONGEST_NAME: usize = 512;

/// Returns an issuer as tokens are judged by.
pub(in crate::listen) fn issuer(
    configured: &TokenIssuer,
    accepted: &AcceptedConfig,
) -> Result<Issuer, String> {
    let mut issuer = Issuer::new(configured.issuer.as_str());
    if !configured.algorithms.is_empty() {
        let named = configured.algorithms.iter().map(|name| name.parse::<Algorithm>());
        let algorithms: Result<Vec<_>, _> = named.collect();
        issuer.algorithms = algorithms.map_err(|_| "an algorithm is not known".to_owned())?;
    }
    if let Some(way) = &configured.introspection {
        let secret = way.expanded_secret(accepted).map_err(|fault| fault.to_string())?;
        issuer.introspection = Some(Introspection {
            url: way.url.as_str().into(),
            client_id: way.client_id.as_str().into(),
            client_secret: secret.expose().into(),
        });
    }
    Ok(issuer)
}

/// Returns what asks issuers: it reaches the public network, and the hosts that the configuration names.
pub(in crate::listen) fn fetcher(oauth: &ListenOauth) -> Result<Fetcher, String> {
    let named = oauth.issuers.iter().flat_map(|issuer| {
        let asked = issuer.introspection.as_ref().map(|way| way.url.as_str());
        [Some(issuer.issuer.as_str()), asked].into_iter().flatten()
    });
    let policy = named.fold(NetworkPolicy::default(), NetworkPolicy::allow_host_of);
    let fetcher = Fetcher::new(policy).map_err(|error| error.to_string())?;
    let Some(path) = &oauth.ca else { return Ok(fetcher) };
    let pem = fs::read(path).map_err(|error| format!("`ca`, {path}: {error}"))?;
    fetcher.trust_pem(&pem).map_err(|error| format!("`ca`, {path}: {error}"))
}

#[cfg(test)]
mod tests {
    use mgp_security::auth::reserved_owner;

    use super::*;

    fn agents(of_first: &str) -> FoundAgents {
        let issuers = format!(
            r#"[{{"issuer":"https://id.example","agents":{of_first:?}}},{{"issuer":"https://other.example"}}]"#
        );
        let ada = r#"{"id":"ada","tokens":[{"issuer":"https://id.example","subject":"1"}]}"#;
        let config = format!(r#"{{"listen":{{"oauth":{{"issuers":{issuers}}}}},"agents":[{ada}]}}"#);
        FoundAgents::of(Arc::new(serde_json::from_str(&config).unwrap()))
    }

    fn name(of: &FoundAgents, issuer: &str, subject: &str) -> Option<String> {
        of.principal(issuer, subject).map(|found| found.as_str().to_owned())
    }

    #[test]
    fn only_an_issuer_that_says_so_has_agents_that_are_not_listed() {
        let (any, listed) = (agents("any"), agents("listed"));
        assert_eq!(name(&any, "https://id.example", "1").as_deref(), Some("ada"));
        assert_eq!(name(&any, "https://id.example", "2").as_deref(), Some("oauth/id.example/2"));
        assert_eq!(name(&listed, "https://id.example", "2"), None);
        assert_eq!(name(&any, "https://other.example", "2"), None);
        assert_eq!(name(&any, "https://unknown.example", "2"), None);
    }

    #[test]
    fn no_subject_makes_the_name_of_somebody_else() {
        let any = agents("any");
        let subjects = [
            "ada", "Ada", "\u{430}da", "@payments", "operator:root", "local/ada", "../ada", "a.b", "a/b",
            "a%2Fb", "ada\n", "ada\u{200b}", "*", "oauth/id.example/ada", " ",
        ];
        let names: Vec<_> =
            subjects.iter().map(|subject| name(&any, "https://id.example", subject).unwrap()).collect();
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), subjects.len(), "{names:?}");
        for name in &names {
            let subject = name.strip_prefix("oauth/id.example/").unwrap();
            let is_safe = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '%');
            assert!(subject.chars().all(is_safe), "{name}");
            assert!(reserved_owner(name).is_some(), "nobody else is called {name}");
        }
        assert_eq!(name(&any, "https://id.example", &"x".repeat(600)), None);
    }
}

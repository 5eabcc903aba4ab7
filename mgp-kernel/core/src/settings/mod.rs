//! The configuration of `mgp.toml`, translated to the settings of each section.

pub mod paths;
pub mod pattern_servers;
pub mod running;

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::catalog::Catalog;
use mgp_discovery::config::model::{
    ArgumentTypes, GroupSettings, ListLevel, NetworkPreset, ServerConfig, usual,
};
use mgp_lifecycle::call::ConcurrencyLimit;
use mgp_security::auth::reserved_owner;
use mgp_security::command::CommandPolicy;
use mgp_security::confirmation::ConfirmationSettings;
use mgp_security::definition::ConfiguredServer;
use mgp_security::limit::{Limits, Rates};
use mgp_security::network::{HostPattern, NetworkPolicy};
use mgp_security::path::ProtectedPaths;
use mgp_security::permission::{GrantBook, GrantTerms, PermissionSettings};
use mgp_security::scope::ScopeRules;
use mgp_security::tool::ToolRules;
use mgp_security::validator::{
    AddressesValidator, NetworkValidator, PathsValidator, SandboxValidator, ValidateGate, Validators,
};
use mgp_toolindex::budget::default_counter;
use mgp_toolindex::discovery::ToolDiscoverySettings;
use mgp_toolindex::embed::EmbedderChoice;
use mgp_toolindex::level::Level;
use mgp_toolindex::session::{PinnedTools, SessionSettings, ToolSessions};
use mgp_transport::http::HttpConfig;
use mgp_transport::{ConnectionLimits, MemoryBudget, SettingNames};
use mgp_types::ext::scope::Scopes;
use mgp_types::ext::{ExtensionId, ExtensionIds};
use mgp_types::mgp::{ApprovalPolicy, SearchStrategy, ToolContextBudget, TrustLevel, ValidatorName};
use mgp_types::{AgentGroup, MethodPattern, PassedMethods, RawJson, Session};

use crate::StartError;

fn wrong(what: impl std::fmt::Display) -> StartError {
    StartError::Config(what.to_string())
}

/// Returns the HTTP settings with the number of connections that there may be.
pub(crate) fn connections(config: &Config, http: HttpConfig) -> HttpConfig {
    let Some(most) = config.listen.max_connections else { return http };
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    http.max_connections(count(most)).max_connections_per_peer(count(most.div_ceil(2)))
}

/// Refuses a configuration that needs a part that this build leaves out.
pub fn check_parts(config: &Config) -> Result<(), StartError> {
    let (cluster, sso) = (("cluster", cfg!(feature = "cluster")), ("sso", cfg!(feature = "sso")));
    let uses = [
        ("store.url", config.store.url.is_some(), cluster),
        ("listen.oauth", config.listen.oauth.is_some(), sso),
        ("ui.oauth", config.ui.oauth.is_some(), sso),
    ];
    let lacking = uses.into_iter().find(|(_, is_used, (_, is_built))| *is_used && !is_built);
    lacking.map_or(Ok(()), |(key, _, (feature, _))| {
        Err(wrong(format!(
            "`{key}` needs a part that this build leaves out; build `mgp` with `--features {feature}`"
        )))
    })
}

/// Returns the embedder that the configuration names; the built-in table if it names none.
pub fn embedder(config: &Config) -> Result<EmbedderChoice, StartError> {
    let Some(words) = config.tools.embedder.as_deref().filter(|words| *words != usual::EMBEDDER) else {
        return Ok(EmbedderChoice::Static);
    };
    let choice = words.parse().map_err(|error| wrong(format!("`tools.embedder`: {error}")))?;
    if !matches!(choice, EmbedderChoice::FastEmbed(_)) || cfg!(feature = "fastembed") {
        return Ok(choice);
    }
    Err(wrong(
        "`tools.embedder`: this build has no such embedder; build `mgp` with `--features fastembed`, or leave it out",
    ))
}

/// Returns the trust in a server on this connection: a declaration of its own can only lower what the configuration
/// grants (§2.3).
pub(crate) fn trust(server: &ServerConfig, session: Option<&Session>) -> TrustLevel {
    let declared = session.and_then(|session| session.mgp.as_ref()?.peer().trust_level);
    declared.map_or_else(|| server.trust(), |declared| server.trust().stricter(declared))
}

/// Returns the rules for the tools of a server that is trusted so far, whatever it declares of them.
pub(crate) fn tool_rules(server: &ServerConfig, trust: TrustLevel) -> ToolRules {
    let security = &server.security;
    // The paths and addresses that a tool gets are always checked, whatever it declares itself.
    let mut validators = vec![ValidatorName::read(PathsValidator::NAME)];
    if !security.spared_validators.contains(&ValidatorName::NetworkRestricted) {
        validators.push(ValidatorName::read(AddressesValidator::NAME));
    }
    validators.extend(security.validators.iter().cloned());
    ToolRules {
        trust,
        validators,
        risk_at_least: security.risk_at_least,
        permissions: security.permissions.clone(),
        confirmation: security.confirmation,
        waived: security.spared_validators.clone(),
    }
}

/// Returns the methods beyond MCP and MGP that these patterns let pass.
pub(crate) fn passed_methods(patterns: &[String]) -> Result<PassedMethods, StartError> {
    let pattern = |text: &String| {
        text.parse().map_err(|error| wrong(format!("`servers.pass_methods`: {text:?}: {error}")))
    };
    Ok(PassedMethods::of(patterns.iter().map(pattern).collect::<Result<Vec<MethodPattern>, _>>()?))
}

/// Returns the settings by which the permissions of one server are decided.
pub(crate) fn permissions(config: &Config, server: &str) -> Result<PermissionSettings, StartError> {
    let configured = &config.permissions;
    let mut settings = PermissionSettings::new(configured.policy.unwrap_or(ApprovalPolicy::Interactive));
    settings.exceptions = configured.never_automatic().into_iter().collect();
    settings.patience = patience(config);
    settings.confirms_calls = config.confirmation.dangerous;
    for rule in &configured.grants {
        if rule.server.as_deref().is_none_or(|of| of == server) {
            let terms = GrantTerms { scope: rule.scope.clone().map(Box::new), ..GrantTerms::default() };
            let granted = settings.with_grant(rule.permission.clone(), terms);
            settings = granted.map_err(|error| wrong(format!("`permissions.grants`: {error}")))?;
        }
    }
    Ok(settings)
}

/// Returns the time that a server or a call waits for a human.
fn patience(config: &Config) -> Duration {
    Duration::from_secs(config.permissions.patience_secs.unwrap_or_else(|| usual::PATIENCE_SECS.into()))
}

/// Returns the settings that say which calls of one server a human confirms.
pub(crate) fn confirmation(config: &Config, server: &ServerConfig, book: GrantBook) -> ConfirmationSettings {
    let configured = &config.confirmation;
    ConfirmationSettings {
        every: server.security.confirmation,
        moderate: configured.moderate,
        dangerous: configured.dangerous,
        instead: Some(book),
        patience: patience(config),
    }
}

/// Returns the validators of the arguments of calls of one server, but that of paths.
pub(crate) fn validators(
    config: &Config,
    server: &ServerConfig,
    protected: ProtectedPaths,
    catalog: Catalog,
) -> Result<Validators, StartError> {
    let commands = CommandPolicy::default().with_protected(protected);
    let id = server.id.clone();
    let owns = move |scheme: &str| catalog.read().has_scheme(id.as_str(), scheme);
    let policy = network_policy(config, server)?;
    let mut network = NetworkValidator::new(policy.clone()).with_own_schemes(owns);
    if server.network.preset == Some(NetworkPreset::Browser) {
        network = network.with_pages_in_urls();
    }
    let validators = Validators::standard().with(SandboxValidator::new(commands));
    Ok(validators.with(AddressesValidator::new(policy)).with(network))
}

/// Returns the gate that checks arguments with `validators`.
pub(crate) fn validate(config: &Config, validators: Validators) -> ValidateGate {
    let gate = ValidateGate::new(validators);
    let gate = if config.validators.roots.is_empty() { gate } else { gate.with_named_roots() };
    match config.validators.argument_types {
        ArgumentTypes::Exact => gate,
        _ => gate.with_loose_types(),
    }
}

/// Returns the hosts that calls of one server may reach.
pub fn network_policy(config: &Config, server: &ServerConfig) -> Result<NetworkPolicy, StartError> {
    let pattern = |key: &str, text: &String| {
        text.parse::<HostPattern>().map_err(|error| wrong(format!("`{key}`: {text:?} is {error}")))
    };
    let of_server = format!("servers.network.allow` of `{}", server.id);
    let configured = &config.validators;
    let mut policy = NetworkPolicy::default().for_server(&server.id);
    for text in &configured.allowed_hosts {
        policy = policy.allow_host(pattern("validators.allowed_hosts", text)?);
    }
    for text in &server.network.allow {
        policy = policy.allow_host(pattern(&of_server, text)?);
    }
    for text in &configured.denied_hosts {
        policy = policy.deny_host(pattern("validators.denied_hosts", text)?);
    }
    if server.network.preset == Some(NetworkPreset::Browser) {
        policy = policy.allow_loopback();
    }
    Ok(if configured.only_allowed_hosts { policy.only_allowed_hosts() } else { policy })
}

/// Returns the facts in the configuration of a server that its definitions are judged by. Only a server that stands in
/// the configuration has an entry there: a server that an agent registers is changed by nobody's edit.
pub(crate) fn configured_server(
    config: &Config,
    server: &ServerConfig,
) -> Result<ConfiguredServer, StartError> {
    let allowed = server.definitions.allow.iter();
    let allowed = allowed.map(|allowed| (allowed.tool.as_str().into(), allowed.rule.as_str().into()));
    let configured =
        ConfiguredServer { entry: None, allowed: allowed.collect(), grows: server.definitions.grows };
    // The entry counts as it is written: the values of variables in it change without an edit.
    let Some(server) = config.server(&server.id) else { return Ok(configured) };
    // For variables and headers only the names count: values are secrets, and are replaced without anything else
    // changing.
    let entry = serde_json::json!({
        "command": server.command,
        "args": server.args,
        "cwd": server.cwd,
        "env": server.env.keys().collect::<Vec<_>>(),
        "url": server.url,
        "headers": server.headers.keys().collect::<Vec<_>>(),
        "socket": server.socket,
        "protocol": server.protocol,
    });
    let entry = RawJson::from_value(&entry).ok().and_then(|entry| mgp_types::canonical::digest(&entry).ok());
    let entry = entry.ok_or_else(|| wrong(format!("the server `{}` has no digest", server.id)))?;
    Ok(ConfiguredServer { entry: Some(entry), ..configured })
}

/// Returns the limits on the requests of an agent, to any server.
pub(crate) fn agent_limits(config: &Config) -> Limits {
    let rates = |minute: Option<u32>, day: Option<u32>| {
        let rates = rate(minute).into_iter().fold(Rates::new(), Rates::per_minute);
        rate(day).into_iter().fold(rates, Rates::per_day)
    };
    let (minute, day) = (config.limits.agent_calls_per_minute, config.limits.agent_calls_per_day);
    let setting = "`agent_calls_per_minute` and `agent_calls_per_day` of `[limits]` in mgp.toml, or `calls_per_minute` and \
                   `calls_per_day` of the agent or its group in `[[agents]]`,";
    let limits = Limits::new().per_principal(rates(minute, day)).set_by(setting);
    let own = config.agents.iter().filter(|agent| agent.calls_per_minute.or(agent.calls_per_day).is_some());
    own.fold(limits, |limits, agent| {
        limits.for_agent(&agent.id, rates(agent.calls_per_minute.or(minute), agent.calls_per_day.or(day)))
    })
}

/// Returns the groups of agents.
pub(crate) fn groups(config: &Config) -> Vec<AgentGroup> {
    let group = |group: &GroupSettings| AgentGroup {
        name: group.name.clone(),
        agents: group.agents.clone(),
        claim: group.claim.clone(),
        values: group.values.clone(),
        issuer: group.issuer.clone(),
    };
    config.groups.iter().map(group).collect()
}

/// Returns the scopes that agents have, and those that tools require besides the ones in their definitions.
pub(crate) fn scopes(config: &Config) -> Result<ScopeRules, StartError> {
    let read =
        |key: &str, list: &[String]| Scopes::read(list).map_err(|error| wrong(format!("`{key}`: {error}")));
    let mut rules = ScopeRules::default();
    for agent in &config.agents {
        if let Some(list) = &agent.scopes {
            rules = rules.with_agent(&agent.id, read("agents.scopes", list)?);
        }
    }
    for server in &config.servers {
        for (tool, rule) in server.tools.iter().filter(|(_, rule)| !rule.required_scopes.is_empty()) {
            let required = read("servers.tools.required_scopes", &rule.required_scopes)?;
            rules = rules.with_tool(&server.id, tool, required);
        }
    }
    Ok(rules)
}

/// Checks that no agent that comes with tokens is called like somebody who is known in another way.
pub(crate) fn check_token_holders(config: &Config) -> Result<(), StartError> {
    let mut holders = config.agents.iter().filter(|agent| !agent.tokens.is_empty());
    holders.find_map(|agent| Some((&agent.id, reserved_owner(&agent.id)?))).map_or(Ok(()), |(id, whose)| {
        Err(wrong(format!("`agents.tokens`: {id:?} cannot come with tokens: {whose}")))
    })
}

/// Returns the limits on the requests of all agents together to a server and to its tools.
pub(crate) fn server_limits(server: &ServerConfig) -> Limits {
    let id = &server.id;
    let limits = Limits::new().set_by(format!(
        "`calls_per_minute` of `[servers.limits]` and `[servers.tools]` of {id} in mgp.toml"
    ));
    let per_minute = |calls| rate(calls).map(|calls| Rates::new().per_minute(calls));
    let limits = per_minute(server.limits.calls_per_minute).into_iter().fold(limits, Limits::per_server);
    server.tools.iter().fold(limits, |limits, (tool, rule)| {
        let rates = per_minute(rule.calls_per_minute).into_iter();
        rates.fold(limits, |limits, rates| limits.for_tool(id.as_str().into(), tool.as_str().into(), rates))
    })
}

fn rate(calls: Option<u32>) -> Option<NonZeroU32> {
    calls.and_then(NonZeroU32::new)
}

/// Returns the limit on the calls of each agent, with those that wait for people and servers. Others wait in its line.
pub(crate) fn agent_calls_at_once(config: &Config) -> ConcurrencyLimit {
    let most = places(config.limits.agent_concurrency.unwrap_or(usual::AGENT_CONCURRENCY));
    let waiting = line(config);
    let each = ConcurrencyLimit::with_line(most, waiting, PATIENCE).refusing_with(format!(
        "too many calls of this agent at once: {most} run and {waiting} wait in line, for {} s at most; come again, or have \
         `agent_concurrency` or `waiting_calls` of `[limits]` raised in mgp.toml",
        PATIENCE.as_secs()
    ));
    each.per_agent()
}

/// Returns the limit on the calls that all servers work on at once.
pub(crate) fn calls_at_once() -> ConcurrencyLimit {
    let places = places(usual::CONCURRENCY);
    ConcurrencyLimit::new(places).refusing_with(format!(
        "the servers work on {places} calls at once, as many as they may together; come again"
    ))
}

/// Returns the layer that bounds the calls that one server works on at once, within the limit `of_all` servers. Others wait in
/// the server's line.
pub(crate) fn server_calls_at_once(
    config: &Config,
    server: &ServerConfig,
    of_all: &ConcurrencyLimit,
) -> ConcurrencyLimit {
    let (id, places, waiting) = (&server.id, server_places(server), line(config));
    let own = ConcurrencyLimit::with_line(places, waiting, PATIENCE).refusing_with(format!(
        "too many calls of {id} at once: {places} run and {waiting} wait in line, for {} s at most; come again, or have \
         `concurrency` of its `[servers.limits]`, or `waiting_calls` of `[limits]`, raised in mgp.toml",
        PATIENCE.as_secs()
    ));
    own.within(of_all.clone())
}

/// Returns the number of calls that one server works on at once.
pub(crate) fn server_places(server: &ServerConfig) -> NonZeroUsize {
    places(server.limits.concurrency.unwrap_or(usual::SERVER_CONCURRENCY))
}

fn places(calls: u32) -> NonZeroUsize {
    NonZeroUsize::new(calls as usize).unwrap_or(NonZeroUsize::MIN)
}

/// Returns the number of calls that wait in each line.
fn line(config: &Config) -> usize {
    config.limits.waiting_calls.unwrap_or(usual::WAITING_CALLS) as usize
}

/// The time that a call waits in line.
const PATIENCE: Duration = Duration::from_mins(2);

/// Returns the settings by which a model gets tools.
pub(crate) fn tool_discovery(config: &Config) -> ToolDiscoverySettings {
    ToolDiscoverySettings::new().strategy(SearchStrategy::Hybrid).level(configured_level(config))
}

/// Returns the level that the configuration names; `None` if the number of tokens decides.
fn configured_level(config: &Config) -> Option<Level> {
    match config.tools.level {
        ListLevel::L0 => Some(Level::L0),
        ListLevel::L1 => Some(Level::L1),
        ListLevel::L2 => Some(Level::L2),
        ListLevel::L3 => Some(Level::L3),
        _ => None,
    }
}

/// Returns the level at which a session that begins now lists tools that take so many tokens.
pub(crate) fn level(config: &Config, tokens: u64) -> Level {
    let fits = tokens <= u64::from(budget(config).max_tokens);
    configured_level(config).unwrap_or(if fits { Level::L0 } else { Level::L3 })
}

/// Returns the tools of sessions, of which none has begun.
pub(crate) fn tool_sessions(
    config: &Config,
    settings: &ToolDiscoverySettings,
) -> Result<ToolSessions, StartError> {
    let counter = default_counter();
    let sessions = SessionSettings::new(budget(config), Arc::clone(&counter))
        .pins(PinnedTools::new(config.tools.pinned.iter().cloned()))
        .meta_tools(&settings.definitions(&*counter));
    // Whoever writes a level wants no more than that.
    let sessions = if config.tools.level == ListLevel::Auto { sessions.fill_room() } else { sessions };
    ToolSessions::new(sessions).map_err(wrong)
}

fn budget(config: &Config) -> ToolContextBudget {
    let configured = &config.tools.budget;
    let mut budget = ToolContextBudget::default();
    budget.max_tokens = configured.max_tokens.unwrap_or(budget.max_tokens);
    budget.pinned_reserve = configured.pinned_reserve.unwrap_or(budget.pinned_reserve);
    budget.discovery_reserve = configured.discovery_reserve.unwrap_or(budget.discovery_reserve);
    budget.cache_limit = configured.cache_limit.unwrap_or(budget.cache_limit);
    budget
}

/// Returns the optional extensions that are on for every client that declares them.
pub(crate) fn offered(config: &Config) -> ExtensionIds {
    let effects = config.effects.enabled.then_some(EFFECTS);
    ExtensionIds::new(OFFERED.into_iter().chain(effects.into_iter().flatten()))
}

/// The optional extensions of effects that happen once and can be taken back, where the configuration has them.
pub(crate) const EFFECTS: [ExtensionId; 2] = [ExtensionId::Idempotency, ExtensionId::Transactions];

const OFFERED: [ExtensionId; 11] = [
    ExtensionId::ServiceManifest,
    ExtensionId::IntentHints,
    ExtensionId::CostTransparency,
    ExtensionId::ScopedAuth,
    ExtensionId::Provenance,
    ExtensionId::MultimodalSignatures,
    ExtensionId::StructuredErrors,
    ExtensionId::ServerRecommendations,
    ExtensionId::SubscribeNotify,
    ExtensionId::Envelopes,
    ExtensionId::ToolRegistry,
];

/// The agent of clients over HTTP without a key, where none is required. They may be any program on this machine.
pub(crate) const KEYLESS_AGENT: &str = "local-http";

/// The name that the kernel gives itself.
pub(crate) const NAME: &str = "mgp";

/// Returns the time that one attempt at a call of the server may take.
pub(crate) fn call_timeout(server: &ServerConfig) -> Duration {
    Duration::from_millis(server.limits.timeout_ms.unwrap_or(usual::CALL_TIMEOUT_MS))
}

/// Returns the time that the server has to start.
pub(crate) fn startup_timeout(config: &Config, server: &ServerConfig) -> Duration {
    let configured = server.limits.startup_timeout_ms.or(config.limits.startup_timeout_ms);
    Duration::from_millis(configured.unwrap_or(usual::STARTUP_TIMEOUT_MS))
}

/// Returns the time that calls have to end when the kernel stops.
pub fn drain(config: &Config) -> Duration {
    Duration::from_secs(config.kernel.drain_secs.unwrap_or(usual::DRAIN_SECS))
}

/// Returns the time for which a kernel in the background goes on when nobody is connected.
pub fn linger(config: &Config) -> Duration {
    Duration::from_secs(config.kernel.linger.unwrap_or(usual::LINGER_SECS))
}

/// Returns the limits of a connection. All connections of the kernel share one `memory` for long messages.
pub(crate) fn connection(config: &Config, memory: &MemoryBudget) -> ConnectionLimits {
    let mut limits = ConnectionLimits::default();
    limits.max_frame_bytes = max_message_bytes(config);
    limits.memory = memory.clone();
    limits.setting_names = SettingNames {
        max_frame_bytes: "`max_message_bytes` of `[limits]` in mgp.toml",
        memory: "`message_memory_bytes` of `[limits]` in mgp.toml",
    };
    limits
}

/// Returns the memory for long messages.
pub(crate) fn message_memory(config: &Config) -> MemoryBudget {
    let bytes = config.limits.message_memory_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    bytes.map_or_else(MemoryBudget::default, MemoryBudget::new)
}

/// Returns the largest size of a message, and of a server's results, in bytes.
pub(crate) fn max_message_bytes(config: &Config) -> usize {
    let most = config.limits.max_message_bytes;
    most.map_or(MAX_MESSAGE_BYTES, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

const MAX_MESSAGE_BYTES: usize = 64 << 20;

#[cfg(test)]
mod tests;

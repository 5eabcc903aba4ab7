//! The gate that serves the methods under `kernel/`.

use std::sync::Arc;

use mgp_discovery::registry::Registry;
use mgp_security::audit::trace_of;
use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort, AuditTarget, EventType, Outcome, TraceId, method as name,
};
use mgp_types::{Error, Flow, Gate, Principal, PrincipalRole, Request, RequestKind, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::known_names::KnownNames;
use super::proof::OperatorConnection;
use super::request::OperatorRequest;
use super::servers::ListServers;
use super::{
    access, audit, config, keys, method, operators, permissions, pins, registrations, servers, stats, status,
    tools,
};
use crate::catalog::ToolCatalog;
use crate::lifecycle::Lifecycle;
use crate::policies::Policies;
use crate::record::{AuditTrail, random};
use crate::reload::ConfigReloader;
use crate::running::RunningConfig;
use crate::server_inventory::{AccessTargets, unmatched_rules};
use crate::servers::fleet::Fleet;

/// A gate that serves the methods under `kernel/` to operators.
///
/// A request over a connection that has to prove first that a person is there ends here with 1000, unless it only reads
/// or brings the proof; the refusal is recorded.
///
/// Sits behind authentication and the record. Reads `context.principal`. For peers that are no operators none of its
/// methods exists (-32601), so that they learn nothing from how the methods refuse. Methods that only read never wait;
/// those that change something are recorded before they act. Everything else passes untouched.
#[derive(Clone)]
pub(crate) struct OperatorGate(pub(crate) Arc<OperatorSections>);

/// The sections of the kernel that operators look after; each method gets those that it is about.
pub(crate) struct OperatorSections {
    pub(crate) config: Arc<RunningConfig>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) audit: Arc<AuditTrail>,
    pub(crate) tools: ToolCatalog,
    pub(crate) targets: AccessTargets,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) registry: Registry,
    pub(crate) reload: Arc<ConfigReloader>,
    pub(crate) lifecycle: Arc<Lifecycle>,
}

impl Gate for OperatorGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let connection = request.extensions.get_shared::<OperatorConnection>();
        let proofs = &self.0.policies.proofs;
        let is_operator = |by: &&Principal| by.role() == PrincipalRole::Operator;
        match (&connection, request.context.principal.as_ref().filter(is_operator)) {
            (Some(connection), Some(by)) if !needs_no_proof(request, connection) => {
                if let Err(error) = proofs.admit(connection) {
                    let by = by.clone();
                    let audit = Arc::clone(&self.0.audit);
                    return Flow::answer_later(refuse(audit, request.take(), by, error));
                }
            }
            // A command that proved nothing is a client of the person who typed it, and shows nothing of other clients.
            (None, None) if request.context.principal.is_some() => proofs.note_client(),
            _ => {}
        }
        if !request.method.as_str().starts_with(PREFIX) || request.kind == RequestKind::Notify {
            return Flow::Pass(());
        }
        match &request.context.principal {
            Some(by) if by.role() == PrincipalRole::Operator => {
                let (audit, trace) = (Arc::clone(&self.0.audit), trace_of(request));
                let asked = OperatorRequest { audit, by: by.clone(), trace, connection };
                Flow::answer_later(answer(Arc::clone(&self.0), asked, request.take()))
            }
            _ => Flow::refuse(Error::method_not_found(&request.method)),
        }
    }
}

async fn answer(
    kernel: Arc<OperatorSections>,
    asked: OperatorRequest,
    request: Request,
) -> Result<Response, Error> {
    let (asked, request) = (&asked, &request);
    let OperatorSections { config, policies, audit, tools, targets, fleet, registry, reload, lifecycle } =
        &*kernel;
    let Policies { access, grants, pending, definitions, keys, proofs, .. } = &**policies;
    let shown_servers = || servers::list(&config.load(), definitions, fleet);
    let known = KnownNames { targets, grants, keys, clients: &lifecycle.visitors };
    let status = || status::status(lifecycle, proofs, config, shown_servers());
    match request.method.as_str() {
        method::ACCESS_LIST => reply(&access::list(access, &read(request)?)),
        method::AUDIT_EXPORT => reply(&audit::export(audit, read(request)?).await?),
        method::AUDIT_HEAD => reply(&audit::head(audit).await?),
        method::AUDIT_QUERY => reply(&audit::query(audit, read(request)?).await?),
        method::AUDIT_VERIFY => reply(&audit::verify(audit, read(request)?).await?),
        method::CONFIG_RELOAD => reply(&config::reload(asked, config.state(), reload).await?),
        method::CONFIG_SHOW => reply(&config::show(config)?),
        method::CONFIG_UNMATCHED => reply(&unmatched_rules(targets, keys, audit.clock.now())),
        method::KERNEL_STATUS => reply(&status()?),
        method::KERNEL_STOP => {
            let status = status()?;
            status::stop(asked, lifecycle).await?;
            reply(&status)
        }
        method::KERNEL_YIELD => reply(&status::step_aside(lifecycle, reload, &read(request)?).await?),
        method::KEYS_LIST => reply(&keys::list(keys, audit.clock.now(), &read(request)?)),
        method::KEYS_NEW => reply(&keys::issue(asked, keys, targets, read(request)?).await?),
        method::KEYS_REVOKE => reply(&keys::revoke(asked, keys, config, &read(request)?).await?),
        method::OPERATORS_PASSPHRASE => {
            let set = operators::set_passphrase(asked, proofs, read(request)?).await?;
            config.accept_running();
            reply(&set)
        }
        method::OPERATORS_PROVE => reply(&operators::prove(asked, proofs, read(request)?).await?),
        // A request to be admitted that has come this far is granted.
        method::OPERATORS_ADMIT | method::OPERATORS_STANDING => reply(&operators::standing(asked, proofs)?),
        method::OPERATORS_TOKEN => reply(&operators::new_token(asked, proofs, read(request)?).await?),
        method::PERMISSIONS_APPROVE => {
            reply(&permissions::approve(asked, pending, registry, read(request)?).await?)
        }
        method::PERMISSIONS_DENY => {
            reply(&permissions::deny(asked, pending, registry, read(request)?).await?)
        }
        method::PERMISSIONS_GRANT => reply(&permissions::grant(asked, &known, read(request)?).await?),
        method::PERMISSIONS_LIST => reply(&permissions::list(grants, pending, &read(request)?)),
        method::PERMISSIONS_PENDING => reply(&permissions::pending(grants, pending, registry)),
        method::PERMISSIONS_RESET => {
            reply(&permissions::reset(asked, grants, pending, read(request)?).await?)
        }
        method::PERMISSIONS_REVOKE => reply(&permissions::revoke(asked, &known, &read(request)?).await?),
        method::PERMISSIONS_SHOW => reply(&permissions::show(pending, registry, &read(request)?)?),
        method::PERMISSIONS_WATCH => {
            reply(&permissions::watch(grants, pending, registry, &read(request)?).await)
        }
        method::PINS_APPROVE => reply(&pins::approve(asked, definitions, fleet, read(request)?).await?),
        method::PINS_DIFF => reply(&pins::diff(definitions, &read(request)?)?),
        method::PINS_LIST => reply(&pins::list(definitions, &read(request)?)),
        method::REGISTRATIONS_APPROVE => {
            reply(&registrations::approve(asked, registry, &read(request)?).await?)
        }
        method::REGISTRATIONS_DENY => reply(&registrations::deny(asked, registry, read(request)?).await?),
        method::REGISTRATIONS_KEEP => reply(&registrations::keep(asked, registry, read(request)?).await?),
        method::REGISTRATIONS_LIST => reply(&registrations::list(registry, &read(request)?)),
        method::SERVERS => {
            let ListServers { begin } = read(request)?;
            servers::begin(tools, fleet, &begin).await;
            reply(&shown_servers())
        }
        method::SERVER_LOGS => reply(&servers::logs(&config.load(), definitions, fleet, &read(request)?)?),
        method::SERVER_RECONNECT => {
            reply(&servers::reconnect(asked, &config.load_full(), fleet, read(request)?).await?)
        }
        method::SERVER_RESTART => {
            reply(&servers::restart(asked, &config.load_full(), fleet, read(request)?).await?)
        }
        method::SERVER_START => {
            reply(&servers::start(asked, &config.load_full(), fleet, read(request)?).await?)
        }
        method::SERVER_STOP => {
            reply(&servers::stop(asked, &config.load_full(), fleet, read(request)?).await?)
        }
        method::STATS => {
            let uptime = lifecycle.life.uptime();
            reply(&stats::stats(&config.load(), tools, fleet, uptime, audit, pending)?)
        }
        method::TOOLS => reply(&tools::list(&tools.catalog, definitions, &read(request)?)),
        _ => Err(Error::method_not_found(&request.method)),
    }
}

/// Returns whether a request changes and decides nothing, or brings a proof itself.
fn needs_no_proof(request: &Request, connection: &OperatorConnection) -> bool {
    let method = request.method.as_str();
    if request.kind == RequestKind::Notify {
        return method.starts_with("notifications/");
    }
    WITHOUT_PROOF.contains(&method) || connection.is_own() && TIGHTENING.contains(&method)
}

/// Returns whether a request is one that agents make, and operators as well.
pub(crate) fn is_for_agents(request: &Request) -> bool {
    request.kind != RequestKind::Notify && OF_AGENTS.contains(&request.method.as_str())
}

async fn refuse(
    audit: Arc<AuditTrail>,
    request: Request,
    by: Principal,
    error: Error,
) -> Result<Response, Error> {
    let trace = trace_of(&request).unwrap_or_else(|| TraceId::from_random(random()));
    let event = AuditEvent::new(
        audit.clock.now(),
        trace,
        EventType::PermissionDenied,
        Actor::of(&by),
        AuditTarget::new(None, None),
        Outcome::Blocked,
    );
    let event =
        event.with_detail("reason", "no proof of a person").with_detail("method", request.method.as_str());
    tracing::warn!(method = %request.method, "a connection that did not prove that a person is there was refused");
    audit.log.record(event).await?;
    Err(error)
}

fn read<T: DeserializeOwned>(request: &Request) -> Result<T, Error> {
    request.body()
}

fn reply<T: Serialize>(result: &T) -> Result<Response, Error> {
    Response::with_body(result)
}

const PREFIX: &str = "kernel/";

/// The methods of agents for which an operator is bound by no rule.
const OF_AGENTS: [&str; 7] = [
    "tools/call",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/get",
    "completion/complete",
    name::TOOLS_CALL,
];

/// The methods that only take something away, or end what the account could end anyway.
const TIGHTENING: [&str; 5] = [
    method::KERNEL_STOP,
    method::PERMISSIONS_DENY,
    method::PERMISSIONS_REVOKE,
    method::SERVER_RECONNECT,
    method::SERVER_STOP,
];

/// The methods that only read or end what nobody uses, and those that bring a proof. All others decide something, or may.
const WITHOUT_PROOF: [&str; 37] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    name::ACCESS_QUERY,
    name::DISCOVERY_LIST,
    name::HEALTH_PING,
    name::HEALTH_STATUS,
    name::TOOLS_DISCOVER,
    method::ACCESS_LIST,
    method::AUDIT_EXPORT,
    method::AUDIT_HEAD,
    method::AUDIT_QUERY,
    method::AUDIT_VERIFY,
    method::CONFIG_SHOW,
    method::CONFIG_UNMATCHED,
    method::KERNEL_STATUS,
    method::KERNEL_YIELD,
    method::KEYS_LIST,
    method::OPERATORS_PASSPHRASE,
    method::OPERATORS_PROVE,
    method::OPERATORS_STANDING,
    method::OPERATORS_TOKEN,
    method::PERMISSIONS_LIST,
    method::PERMISSIONS_PENDING,
    method::PERMISSIONS_SHOW,
    method::PERMISSIONS_WATCH,
    method::PINS_DIFF,
    method::PINS_LIST,
    method::REGISTRATIONS_LIST,
    method::SERVERS,
    method::SERVER_LOGS,
    method::STATS,
    method::TOOLS,
];

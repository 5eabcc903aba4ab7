use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use mgp_security::audit::trace_of;
use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort, AuditTarget, EventType, Outcome, TraceId, method as name,
};
use mgp_types::{Error, Flow, Gate, Kind, Principal, Request, Response, Role};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::proof::OperatorConnection;
use super::{
    access, audit, config, keys, method, operators, permissions, pins, registrations, servers, stats, status,
    tools,
};
use crate::parts::Parts;
use crate::targets::unmatched_rules;

/// Serves the methods under `kernel/` to operators.
///
/// Whatever comes over a connection that has to prove first that a person is there ends here with 1000, unless it only reads
/// or brings the proof; the refusal is recorded.
///
/// Sits behind whatever authenticates and records. Reads `context.principal`. To everybody who is no operator none of its
/// methods exists (-32601), so that nothing is learned from how they refuse. What only reads never waits; what changes
/// something is recorded before it is done. Everything else passes untouched.
#[derive(Clone)]
pub(crate) struct OperatorGate(pub(crate) Arc<Parts>);

impl Gate for OperatorGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let connection = request.extensions.get_shared::<OperatorConnection>();
        if let Some(connection) = &connection
            && !needs_no_proof(request)
            && let Err(error) = self.0.proofs.admit(connection)
        {
            return match request.context.principal.clone() {
                Some(by) => Flow::answer_later(refuse(Arc::clone(&self.0), request.take(), by, error)),
                None => Flow::refuse(error),
            };
        }
        if !request.method.as_str().starts_with(PREFIX) || request.kind == Kind::Notify {
            return Flow::Pass(());
        }
        match &request.context.principal {
            Some(by) if by.role() == Role::Operator => {
                let parts = Arc::clone(&self.0);
                let asked = Asked { parts, by: by.clone(), trace: trace_of(request), connection };
                Flow::answer_later(answer(asked, request.take()))
            }
            _ => Flow::refuse(Error::method_not_found(&request.method)),
        }
    }
}

/// Who asks, and in which chain of requests; for what is recorded.
pub(super) struct Asked {
    pub(super) parts: Arc<Parts>,
    pub(super) by: Principal,
    pub(super) trace: Option<TraceId>,
    /// The connection, where it may have to prove that a person is there.
    pub(super) connection: Option<Arc<OperatorConnection>>,
}

impl Asked {
    /// Records what is about to be done, of which the sections record nothing themselves.
    pub(super) async fn record(
        &self,
        what: &str,
        target: AuditTarget,
        details: &[(&str, &str)],
    ) -> Result<(), Error> {
        let trace = self.trace.unwrap_or_else(|| TraceId::from_random(random()));
        let actor = Actor::of(&self.by);
        let (now, kind) = (self.parts.clock.now(), EventType::read(what));
        let event = AuditEvent::new(now, trace, kind, actor, target, Outcome::Success);
        let event = details.iter().fold(event, |event, (name, value)| event.with_detail(name, *value));
        self.parts.audit.record(event).await
    }
}

async fn answer(asked: Asked, request: Request) -> Result<Response, Error> {
    let (parts, request) = (&*asked.parts, &request);
    match request.method.as_str() {
        method::ACCESS_LIST => reply(&access::list(parts, &read(request)?)),
        method::AUDIT_EXPORT => reply(&audit::export(parts, read(request)?).await?),
        method::AUDIT_HEAD => reply(&audit::head(parts).await?),
        method::AUDIT_QUERY => reply(&audit::query(parts, read(request)?).await?),
        method::AUDIT_VERIFY => reply(&audit::verify(parts, read(request)?).await?),
        method::CONFIG_RELOAD => reply(&config::reload(&asked).await?),
        method::CONFIG_SHOW => reply(&config::show(parts)?),
        method::CONFIG_UNMATCHED => reply(&unmatched_rules(parts)),
        method::KERNEL_STATUS => reply(&status::status(parts)?),
        method::KERNEL_STOP => reply(&status::stop(&asked).await?),
        method::KEYS_LIST => reply(&keys::list(parts, &read(request)?)),
        method::KEYS_NEW => reply(&keys::issue(&asked, read(request)?).await?),
        method::KEYS_REVOKE => reply(&keys::revoke(&asked, &read(request)?).await?),
        method::OPERATORS_PASSPHRASE => reply(&operators::set_passphrase(&asked, read(request)?).await?),
        method::OPERATORS_PROVE => reply(&operators::prove(&asked, read(request)?).await?),
        // Whoever asks to be admitted and has come this far is.
        method::OPERATORS_ADMIT | method::OPERATORS_STANDING => reply(&operators::standing(&asked)),
        method::OPERATORS_TOKEN => reply(&operators::new_token(&asked, read(request)?).await?),
        method::PERMISSIONS_APPROVE => reply(&permissions::approve(&asked, read(request)?).await?),
        method::PERMISSIONS_DENY => reply(&permissions::deny(&asked, read(request)?).await?),
        method::PERMISSIONS_GRANT => reply(&permissions::grant(&asked, read(request)?).await?),
        method::PERMISSIONS_LIST => reply(&permissions::list(parts, &read(request)?)),
        method::PERMISSIONS_PENDING => reply(&permissions::pending(parts)),
        method::PERMISSIONS_RESET => reply(&permissions::reset(&asked, read(request)?).await?),
        method::PERMISSIONS_REVOKE => reply(&permissions::revoke(&asked, &read(request)?).await?),
        method::PERMISSIONS_SHOW => reply(&permissions::show(parts, &read(request)?)?),
        method::PERMISSIONS_WATCH => reply(&permissions::watch(parts, &read(request)?).await),
        method::PINS_APPROVE => reply(&pins::approve(&asked, read(request)?).await?),
        method::PINS_DIFF => reply(&pins::diff(parts, &read(request)?)?),
        method::PINS_LIST => reply(&pins::list(parts, &read(request)?)),
        method::REGISTRATIONS_APPROVE => reply(&registrations::approve(&asked, &read(request)?).await?),
        method::REGISTRATIONS_DENY => reply(&registrations::deny(&asked, read(request)?).await?),
        method::REGISTRATIONS_KEEP => reply(&registrations::keep(&asked, read(request)?).await?),
        method::REGISTRATIONS_LIST => reply(&registrations::list(parts, &read(request)?)?),
        method::SERVERS => reply(&servers::list(parts)),
        method::SERVER_LOGS => reply(&servers::logs(parts, &read(request)?)?),
        method::SERVER_RESTART => reply(&servers::restart(&asked, read(request)?).await?),
        method::SERVER_START => reply(&servers::start(&asked, read(request)?).await?),
        method::SERVER_STOP => reply(&servers::stop(&asked, read(request)?).await?),
        method::STATS => reply(&stats::stats(parts)?),
        method::TOOLS => reply(&tools::list(parts, &read(request)?)),
        _ => Err(Error::method_not_found(&request.method)),
    }
}

/// Whether a request changes and decides nothing, or brings a proof itself.
fn needs_no_proof(request: &Request) -> bool {
    let method = request.method.as_str();
    if request.kind == Kind::Notify {
        return method.starts_with("notifications/");
    }
    WITHOUT_PROOF.contains(&method)
}

async fn refuse(parts: Arc<Parts>, request: Request, by: Principal, error: Error) -> Result<Response, Error> {
    let trace = trace_of(&request).unwrap_or_else(|| TraceId::from_random(random()));
    let event = AuditEvent::new(
        parts.clock.now(),
        trace,
        EventType::PermissionDenied,
        Actor::of(&by),
        AuditTarget::new(None, None),
        Outcome::Blocked,
    );
    let event =
        event.with_detail("reason", "no proof of a person").with_detail("method", request.method.as_str());
    tracing::warn!(method = %request.method, "a connection that did not prove that a person is there was refused");
    parts.audit.record(event).await?;
    Err(error)
}

fn read<T: DeserializeOwned>(request: &Request) -> Result<T, Error> {
    request.body()
}

fn reply<T: Serialize>(result: &T) -> Result<Response, Error> {
    Response::with_body(result)
}

/// An id for a chain that begins here. It is no secret: it only has to differ from others.
pub(crate) fn random() -> [u8; 16] {
    let hash = || RandomState::new().hash_one(()).to_be_bytes();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&hash());
    bytes[8..].copy_from_slice(&hash());
    bytes
}

const PREFIX: &str = "kernel/";

/// What only reads, and what brings a proof. Whatever is not named decides something, or may.
const WITHOUT_PROOF: [&str; 36] = [
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

//! Trace ids: the lookup of the one that a request carries, the gate that passes it on to the peer, and the notification by
//! which a server reports an audit event of its own.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use memchr::memchr;
use memchr::memmem::Finder;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{AuditEvent, Extension, TraceId, method};
use mgp_types::{Error, Flow, Gate, Object, RawJson, Request, RequestKind, Session};

/// Returns the trace id of the chain of requests that a request belongs to (§6.5): the id noted for the request, or
/// else the one that it carries.
///
/// The id is read from `params.trace_id`, where MGP has it, from `params._mgp.trace_id`, from `trace_id` or the W3C
/// `traceparent` of `_meta`, and from the `task_trace_id` of a request for tools (§16.6), made by its method or as a
/// call of its tool; the first valid id counts. A server puts it into its own audit events.
pub fn trace_of(request: &Request) -> Option<TraceId> {
    let params = &request.params;
    let inside = |name: &str, read: fn(&Object) -> Option<TraceId>| {
        // All names that are searched for contain the same word, unless it is written with escapes. Most objects have
        // none of them, and need not be parsed.
        let may_have = |json: &[u8]| TRACE.find(json).is_some() || memchr(b'\\', json).is_some();
        let member = params.get(name).filter(|member| may_have(member.as_bytes()))?;
        read(&Object::from_raw(&member).ok()?)
    };
    // Only the arguments of a call that asks for tools are searched.
    let asks_for_tools = || params.text("name").is_some_and(|name| name.ends_with("mgp.tools.request"));
    request
        .context
        .trace
        .or_else(|| named(params))
        .or_else(|| inside("_mgp", named))
        .or_else(|| inside("_meta", |meta| named(meta).or_else(|| from_traceparent(meta))))
        .or_else(|| of_task(params))
        .or_else(|| if asks_for_tools() { inside("arguments", of_task) } else { None })
}

/// Returns the notification that reports `event` (§6.3), for a server that reports events of its own.
///
/// The event should have the trace id of the request that it is about: see [`trace_of`]. The
/// notification is for peers that have negotiated `audit`.
///
/// ```
/// use mgp_security::audit::{notification, trace_of};
/// use mgp_types::mgp::{Actor, ActorType, AuditEvent, AuditTarget, EventType, Outcome, Timestamp};
/// use mgp_types::{Object, Request};
///
/// let params = Object::parse(r#"{"name":"wipe","trace_id":"550e8400-e29b-41d4-a716-446655440000"}"#)?;
/// let request = Request::call("tools/call", params);
/// let event = AuditEvent::new(
///     Timestamp::now(),
///     trace_of(&request).expect("the client sends one"),
///     EventType::Custom("com.example.wiped".into()),
///     Actor::new(ActorType::Server, "tool.disk"),
///     AuditTarget::new(None, Some("wipe".into())),
///     Outcome::Success,
/// );
/// let report = notification(&event)?;
/// assert_eq!(report.method.as_str(), "notifications/mgp.audit");
/// assert_eq!(report.params.text("trace_id").as_deref(), Some("550e8400-e29b-41d4-a716-446655440000"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Fails if the event cannot be written as JSON.
pub fn notification(event: &AuditEvent) -> Result<Request, Error> {
    let params = Object::from_value(event)
        .map_err(|error| Error::internal("the event is not JSON").with_source(error))?;
    Ok(Request::notify(method::AUDIT, params))
}

fn named(object: &Object) -> Option<TraceId> {
    object.text("trace_id")?.parse().ok()
}

fn of_task(object: &Object) -> Option<TraceId> {
    object.text("task_trace_id")?.parse().ok()
}

fn from_traceparent(meta: &Object) -> Option<TraceId> {
    TraceId::from_traceparent(&meta.text("traceparent")?)
}

/// A gate that passes the trace id of each request on to the peer (§6.5).
///
/// A peer that has negotiated `audit` gets `params.trace_id`. A peer of a revision without sessions gets a
/// `traceparent` of W3C Trace Context in `_meta`; one that came with the request stays as it is, with its
/// `tracestate` and `baggage`, because its span is the caller's. A peer without MGP gets no member of MGP: a
/// `trace_id` that came with the request is removed.
///
/// The gate stands on the way out, in front of the retries, so that each try has the same id. It reads
/// `context.trace`, or else the id in the request, and writes `context.trace`, with a new id if there was none. It
/// refuses nothing, never waits, and allocates only for what it writes.
#[derive(Clone)]
pub struct TraceIdGate {
    peer: FindSession,
}

/// A function that finds the session with the peer; the slot of the request may hold that of the caller.
type FindSession = Arc<dyn Fn() -> Option<Arc<Session>> + Send + Sync>;

impl TraceIdGate {
    /// Returns a gate for the peer of the session that `find` returns. While `find` returns none, requests are
    /// treated as going to a peer without MGP.
    pub fn to_peer(find: impl Fn() -> Option<Arc<Session>> + Send + Sync + 'static) -> Self {
        Self { peer: Arc::new(find) }
    }
}

mgp_types::partial_debug!(TraceIdGate);

impl Gate for TraceIdGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if request.kind == RequestKind::Call {
            let id = trace_of(request).unwrap_or_else(TraceId::random);
            request.context.trace = Some(id);
            let session = (self.peer)();
            write(&mut request.params, id, session.as_deref());
        }
        Flow::Pass(())
    }
}

fn write(params: &mut Object, id: TraceId, session: Option<&Session>) {
    let knows_audit = session.is_some_and(|session| session.has(&Extension::Audit));
    let carries_it = params.text("trace_id").is_some_and(|text| text.parse::<TraceId>() == Ok(id));
    if knows_audit {
        if !carries_it && let Ok(id) = RawJson::from_value(&id) {
            params.set("trace_id", id);
        }
    } else {
        // A `trace_id` is removed only if it is that of this chain; another value is the caller's own.
        if carries_it {
            params.remove("trace_id");
        }
        if let Some(ours) = params.object_mut("_mgp") {
            ours.remove("trace_id");
            if ours.is_empty() {
                params.remove("_mgp");
            }
        }
    }
    if session.is_some_and(Session::describes_each_request) {
        write_traceparent(params, id);
    }
}

fn write_traceparent(params: &mut Object, id: TraceId) {
    if !params.contains("_meta") {
        params.object_mut_or_new("_meta");
    }
    // A `_meta` that is not an object is left for the peer to refuse.
    let Some(meta) = params.object_mut("_meta") else { return };
    if from_traceparent(meta).is_some() {
        return;
    }
    // The span stands for this process. It is not a secret, and each hasher has its own seed.
    let span = RandomState::new().hash_one(());
    meta.set(
        key::TRACEPARENT,
        RawJson::from_written(format!("\"{}\"", id.to_traceparent(span)).into_bytes()),
    );
}

/// The word that the names of all trace members contain.
static TRACE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("trace"));

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use mgp_types::Revision;
    use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};

    use tower_service::Service as _;

    use super::*;
    use crate::doubles::TestServer;

    const ID: &str = "550e8400-e29b-41d4-a716-446655440000";
    const OTHER: &str = "11111111-2222-4333-8444-555555555555";
    const PARENT: &str = "00-550e8400e29b41d4a716446655440000-00f067aa0ba902b7-01";

    fn read(params: &str) -> Option<String> {
        let request = Request::call("tools/call", Object::parse(params.to_owned()).unwrap());
        trace_of(&request).map(|id| id.to_string())
    }

    // covers: MGP-6.5-01
    #[test]
    fn a_trace_id_is_read_wherever_a_client_puts_it() {
        for params in [
            format!(r#"{{"trace_id":"{ID}"}}"#),
            format!(r#"{{"trace_id":"{ID}","_mgp":{{"trace_id":"{OTHER}"}}}}"#),
            format!(r#"{{"_mgp":{{"trace_id":"{ID}"}}}}"#),
            format!(r#"{{"_meta":{{"trace_id":"{ID}"}}}}"#),
            format!(r#"{{"_meta":{{"traceparent":"{PARENT}"}}}}"#),
            format!(r#"{{"_meta":{{"tr\u0061ce_id":"{ID}"}}}}"#),
            format!(r#"{{"trace_id":7,"_mgp":[],"_meta":{{"trace_id":"x","traceparent":"{PARENT}"}}}}"#),
        ] {
            assert_eq!(read(&params).as_deref(), Some(ID), "{params}");
        }
    }

    // covers: MGP-16.6-08
    #[test]
    fn a_request_for_tools_stands_in_the_chain_of_its_task() {
        for params in [
            format!(r#"{{"task_trace_id":"{ID}","context":"x"}}"#),
            format!(r#"{{"name":"mgp.tools.request","arguments":{{"task_trace_id":"{ID}"}}}}"#),
            format!(r#"{{"task_trace_id":"{OTHER}","_meta":{{"trace_id":"{ID}"}}}}"#),
        ] {
            assert_eq!(read(&params).as_deref(), Some(ID), "{params}");
        }
    }

    #[test]
    fn the_arguments_of_any_other_tool_are_not_looked_at() {
        assert_eq!(read(&format!(r#"{{"name":"echo","arguments":{{"task_trace_id":"{ID}"}}}}"#)), None);
    }

    #[test]
    fn what_is_no_trace_id_is_none() {
        for params in
            ["{}", r#"{"trace_id":""}"#, r#"{"_meta":{"traceparent":"00-1-2-3"}}"#, r#"{"_meta":null}"#]
        {
            assert_eq!(read(params), None, "{params}");
        }
    }

    fn session(revision: Revision, extensions: &[&str]) -> Arc<Session> {
        let mut session = Session::new(revision);
        let offer = Offer::new(ExtensionSet::from_names(extensions));
        session.mgp = if extensions.is_empty() { None } else { Negotiated::agree(&offer, &offer) };
        Arc::new(session)
    }

    fn sent(layer: &TraceIdGate, request: Request) -> Request {
        let server = TestServer::new();
        layer.layer(server.clone()).call(request).now_or_never().unwrap().unwrap();
        server.last()
    }

    fn call(params: &str) -> Request {
        Request::call("tools/call", Object::parse(params.to_owned()).unwrap())
    }

    // covers: MGP-6.5-01
    #[test]
    fn every_call_to_a_peer_with_audit_carries_a_trace_id() {
        let session = session(Revision::LATEST_SESSION, &["audit"]);
        let layer = TraceIdGate::to_peer(move || Some(Arc::clone(&session)));
        for method in ["tools/call", "tools/list", "ping", "mgp/access/query"] {
            let request = sent(&layer, Request::call(method, Object::new()));
            let id = request.context.trace.unwrap();
            assert_eq!(request.params.text("trace_id").unwrap(), id.to_string());
            assert!(!request.params.contains("_meta"));
        }
        let request = sent(&layer, call(&format!(r#"{{"name":"x","trace_id":"{ID}"}}"#)));
        assert_eq!(
            request.params.to_raw().as_bytes(),
            format!(r#"{{"name":"x","trace_id":"{ID}"}}"#).as_bytes()
        );
        let request = sent(&layer, call(&format!(r#"{{"_meta":{{"traceparent":"{PARENT}"}}}}"#)));
        assert_eq!(request.params.text("trace_id").unwrap(), ID);
        assert_eq!(request.meta("traceparent").unwrap().to_text().unwrap(), PARENT);
        let notification = Request::notify("notifications/cancelled", Object::new());
        assert!(sent(&layer, notification).params.is_empty());
    }

    #[test]
    fn the_id_of_the_context_goes_out_and_not_what_the_caller_wrote_in_its_place() {
        let session = session(Revision::LATEST_SESSION, &["audit"]);
        let mut request = call(r#"{"trace_id":"not one"}"#);
        request.context.trace = ID.parse().ok();
        let request = sent(&TraceIdGate::to_peer(move || Some(Arc::clone(&session))), request);
        assert_eq!(request.params.text("trace_id").unwrap(), ID);
    }

    #[test]
    fn a_peer_without_mgp_sees_plain_mcp() {
        for (revision, extensions) in [
            (Revision::LATEST_SESSION, &[][..]),
            (Revision::LATEST_SESSION, &["security"][..]),
            (Revision::LATEST, &[][..]),
        ] {
            let session = session(revision, extensions);
            let layer = TraceIdGate::to_peer(move || Some(Arc::clone(&session)));
            let request = sent(&layer, call(&format!(r#"{{"name":"x","trace_id":"{ID}"}}"#)));
            assert!(!request.params.contains("trace_id"));
            let parent = request.meta("traceparent").and_then(|parent| parent.to_text());
            let id = parent.as_deref().and_then(TraceId::from_traceparent).map(|id| id.to_string());
            assert_eq!(id.as_deref(), revision.is_stateless().then_some(ID));
        }
        let params = format!(r#"{{"trace_id":"{ID}","_mgp":{{"trace_id":"{ID}"}}}}"#);
        assert!(sent(&TraceIdGate::to_peer(|| None), call(&params)).params.is_empty());
    }

    #[test]
    fn what_came_of_w3c_trace_context_stays_the_callers() {
        let session = session(Revision::LATEST, &["audit"]);
        let meta = format!(r#"{{"traceparent":"{PARENT}","tracestate":"a=1","baggage":"b=2"}}"#);
        let request = call(&format!(r#"{{"_meta":{meta}}}"#));
        let request = sent(&TraceIdGate::to_peer(move || Some(Arc::clone(&session))), request);
        assert_eq!(request.params.bytes("_meta").unwrap(), meta.as_bytes());
        assert_eq!(request.params.text("trace_id").unwrap(), ID);
    }
}

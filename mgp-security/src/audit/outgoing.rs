//! The gate that passes trace ids on to the peer.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use mgp_types::mcp::meta::key;
use mgp_types::mgp::{Extension, TraceId};
use mgp_types::{Flow, Gate, Object, RawJson, Request, RequestKind, Session};

use super::trace::{from_traceparent, trace_of};

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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use mgp_types::Revision;
    use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};

    use tower_service::Service as _;

    use super::*;
    use crate::doubles::TestServer;

    const ID: &str = "550e8400-e29b-41d4-a716-446655440000";
    const PARENT: &str = "00-550e8400e29b41d4a716446655440000-00f067aa0ba902b7-01";

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

//! The calls of the protocol that a door makes of its requests.

use std::sync::Arc;

use http::request::Parts;
use mgp_transport::Accept;
use mgp_transport::http::HttpServer;
use mgp_types::ext::ExtensionId;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{CapabilityMessage, ExtensionSet, Offer, TraceId};
use mgp_types::{Error, Method, Object, RawJson, Revision};

/// The protocol's own server, to which a door sends calls. Each call describes itself, so a door holds no session.
pub(super) struct InnerCalls<A: Accept> {
    pub(super) server: HttpServer<A>,
    /// The head of the request at the door, whose sender makes the calls.
    pub(super) head: Arc<Parts>,
    /// The trace of the request at the door, by which the record knows all calls that are made of it: that of `traceparent`,
    /// or a new one.
    pub(super) trace: TraceId,
}

impl<A: Accept> InnerCalls<A> {
    /// Calls `method` with these parameters, for the sender of the request at the door.
    ///
    /// # Errors
    /// Fails with the error of the call, whose data have the members of a structured error and those of the tool
    /// registry.
    pub(super) async fn call(&self, method: &str, mut params: Object) -> Result<RawJson, Error> {
        let mut meta = params.object("_meta").unwrap_or_default();
        meta.set(key::PROTOCOL_VERSION, RawJson::from_text(Revision::LATEST.as_str()));
        meta.set(key::CLIENT_INFO, RawJson::parse(CLIENT).unwrap_or(RawJson::empty_object()));
        meta.set(key::CLIENT_CAPABILITIES, capabilities());
        meta.set("trace_id", RawJson::from_text(&self.trace.to_string()));
        params.set("_meta", meta.to_raw());
        let response = self.server.call_for(Arc::clone(&self.head), Method::new(method), params).await?;
        Ok(response.to_raw())
    }
}

const CLIENT: &str = concat!(r#"{"name":"mgp-door","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// Returns the capabilities of a door: it asks nobody anything, and reads errors in all their forms. MGP is among them for
/// the numbers of its errors.
fn capabilities() -> RawJson {
    let ids = [ExtensionId::StructuredErrors, ExtensionId::ToolRegistry, ExtensionId::ServiceManifest];
    let extensions = Object::from(ids.map(|id| (id.id(), RawJson::empty_object())));
    let mut capabilities = Object::from([("extensions", extensions.to_raw())]);
    Offer::new(ExtensionSet::new()).write(&mut capabilities, CapabilityMessage::Stateless);
    capabilities.to_raw()
}

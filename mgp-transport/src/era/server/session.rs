//! The session of one connection, which `initialize` opens.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use mgp_types::mgp::CapabilityMessage;
use mgp_types::{
    BoxFuture, Error, Method, Object, Outbox, OutboxPort, Params, RawJson, Request, RequestKind, Response,
    Revision, Session, StreamId, code,
};
use tokio::sync::watch;

use super::{ServerIdentity, VersionMismatch};
use crate::era::{negotiated, offer_of};

/// The session of one connection, once `initialize` has opened it.
#[derive(Debug)]
pub(super) struct OpenedSession {
    session: ArcSwapOption<Session>,
    outbox: Outbox,
    initialized: Initialized,
}

impl OpenedSession {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self { session: ArcSwapOption::empty(), outbox, initialized: Initialized::default() }
    }

    /// Returns whether the connection can hold a session: the peer has to be reachable for as long as it lasts.
    pub(super) fn can_open(&self) -> bool {
        self.outbox.is_open()
    }

    /// Returns the session.
    ///
    /// # Errors
    /// -32600 before `initialize`.
    pub(super) fn session(&self) -> Result<Arc<Session>, Error> {
        self.session
            .load_full()
            .ok_or_else(|| Error::invalid_request("the session is not open: send `initialize` first"))
    }

    /// Gives the request an outbox to the peer, as far as the peer is ready for it.
    pub(super) fn connect(&self, request: &mut Request) {
        if request.method == Method::INITIALIZED && request.kind == RequestKind::Notify {
            self.initialized.0.send_replace(true);
        }
        let outbox = std::mem::take(&mut request.context.outbox);
        request.context.outbox = self.initialized.holding(outbox);
    }

    pub(super) fn open(&self, session: Arc<Session>) {
        self.session.store(Some(session));
    }

    /// Reads the session that an `initialize` request describes.
    ///
    /// # Errors
    /// -32600 if there is a session already, -32602 if a member is missing or the revision or client is refused.
    pub(super) fn described(
        &self,
        params: &Params,
        identity: &ServerIdentity,
    ) -> Result<Arc<Session>, Error> {
        if self.session.load().is_some() {
            return Err(Error::invalid_request("the session is open already"));
        }
        let requested = params.text("protocolVersion").ok_or_else(|| lacking("protocolVersion"))?;
        let info =
            params.get("clientInfo").filter(RawJson::is_object).ok_or_else(|| lacking("clientInfo"))?;
        let capabilities = params
            .get("capabilities")
            .and_then(|capabilities| Object::from_raw(&capabilities.detached()).ok())
            .ok_or_else(|| lacking("capabilities"))?;
        let mut session = Session::new(agreed(&requested, identity)?);
        session.mgp = negotiated(&capabilities, identity.mgp.as_ref());
        session.capabilities = capabilities;
        identity.check(&session)?;
        session.peer = Some(info.detached());
        session.outbox = self.initialized.holding(self.outbox.clone());
        if session.mgp.is_none() {
            session.outbox = session.outbox.without_mgp();
        }
        Ok(Arc::new(session))
    }
}

/// Returns the revision of a session for which `requested` was asked.
fn agreed(requested: &str, identity: &ServerIdentity) -> Result<Revision, Error> {
    let known = requested.parse().ok();
    if let Some(same) = identity.session_revisions().find(|revision| Some(*revision) == known) {
        return Ok(same);
    }
    match (identity.mismatch, identity.session_revisions().next()) {
        (VersionMismatch::CounterOffer, Some(newest)) => Ok(newest),
        (VersionMismatch::Refuse, Some(_)) => {
            Err(Error::unsupported_version(code::INVALID_PARAMS, requested, identity.revisions()))
        }
        (_, None) => Err(identity.unsupported(requested)),
    }
}

/// Makes the result of `initialize` from the server's answer about itself.
pub(super) fn initialized(
    described: &Response,
    session: &Session,
    identity: &ServerIdentity,
) -> Result<Response, Error> {
    let mut result = Object::from_raw(&described.to_raw())?;
    let mut capabilities = take_capabilities(&mut result);
    if let Some(answer) =
        offer_of(&session.capabilities).and_then(|theirs| identity.mgp.as_ref()?.answer(&theirs))
    {
        answer.write(&mut capabilities, CapabilityMessage::SessionResult);
    }
    let mut opened = Object::new();
    opened.set("protocolVersion", RawJson::from_text(session.revision.as_str()));
    opened.set("capabilities", capabilities.to_raw());
    opened.set("serverInfo", identity.info(session.revision));
    Ok(like(described, opened, &result))
}

/// Makes the result of `server/discover` from the server's answer about itself.
pub(super) fn discovered(described: &Response, identity: &ServerIdentity) -> Result<Response, Error> {
    let mut result = Object::from_raw(&described.to_raw())?;
    let mut capabilities = take_capabilities(&mut result);
    if let Some(offer) = &identity.mgp {
        offer.write(&mut capabilities, CapabilityMessage::Stateless);
    }
    let names: Vec<_> = identity.revisions().iter().map(|revision| revision.as_str()).collect();
    let names = RawJson::from_value(&names).unwrap_or_else(|_| RawJson::null());
    let discovered = Object::from([("supportedVersions", names), ("capabilities", capabilities.to_raw())]);
    Ok(like(described, discovered, &result))
}

/// Returns a result of the members of `result` and the members of the server's answer, with the answer's
/// [`ResultShape`](mgp_types::ResultShape).
fn like(described: &Response, mut result: Object, answer: &Object) -> Response {
    result.set_all(answer);
    let mut response = Response::new(result.to_raw());
    response.context.shape = described.context.shape;
    response.context.cache.clone_from(&described.context.cache);
    response
}

fn take_capabilities(result: &mut Object) -> Object {
    result.remove("capabilities").and_then(|raw| Object::from_raw(&raw).ok()).unwrap_or_default()
}

fn lacking(member: &'static str) -> Error {
    Error::invalid_params(format!("`initialize` needs `{member}`"))
}

/// Checks that the revision has the method.
pub(super) fn exists(method: &Method, revision: Revision) -> Result<(), Error> {
    if method.exists_in(revision) { Ok(()) } else { Err(Error::method_not_found(method)) }
}

/// The signal that the client has ended the opening of the session with `notifications/initialized`.
#[derive(Debug, Default)]
struct Initialized(watch::Sender<bool>);

impl Initialized {
    /// Returns an outbox that holds requests until the client is ready for them.
    ///
    //= mcp 2025-11-25 lifecycle
    //# The server SHOULD NOT send requests other than pings and logging before receiving the initialized
    //# notification.
    fn holding(&self, outbox: Outbox) -> Outbox {
        if *self.0.borrow() {
            return outbox;
        }
        let Some((port, stream)) = outbox.into_parts() else { return Outbox::CLOSED };
        Outbox::new(Arc::new(Holding { port, initialized: self.0.subscribe() }), stream)
    }
}

struct Holding {
    port: Arc<dyn OutboxPort>,
    initialized: watch::Receiver<bool>,
}

const PATIENCE: Duration = Duration::from_secs(10);

impl OutboxPort for Holding {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        self.port.notify(stream, notification)
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        let mut initialized = self.initialized.clone();
        Box::pin(async move {
            // Some clients never send that they are ready; after a while the server takes them for ready.
            let _ = tokio::time::timeout(PATIENCE, initialized.wait_for(|initialized| *initialized)).await;
            self.port.call(stream, request).await
        })
    }
}

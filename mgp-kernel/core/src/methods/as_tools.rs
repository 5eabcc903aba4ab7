//! The gate that offers MGP's methods as tools to plain MCP clients.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_types::mgp::{ExtensionSet, MethodForm, Negotiated, Offer, method};
use mgp_types::{Error, Flow, Gate, Method, Request, RequestKind, Response, Revision, Session};
use parking_lot::Mutex;

/// A gate that offers MGP's methods as tools.
///
/// A call of the tool `mgp.health.ping`, in any of the three spellings, becomes the method of that name further in, and
/// its answer the tool's result: a plain MCP client can do what a peer that speaks MGP can. Whoever answers the
/// method decides who may call it. Only `mgp.tools.discover` and `mgp.tools.request` are ever listed: what manages the
/// kernel does not belong into a model's context.
///
/// Sits behind tool resolution, since no server's tool has such a name. Calls of other tools pass untouched and cost a
/// look at the first letters of the name.
///
/// Holds the sessions in which clients without MGP call its methods, by the address of the client's own session: what was
/// begun in one, such as a subscription, lasts as long as the client's session.
#[derive(Clone, Default)]
pub(crate) struct MethodsAsToolsGate(Arc<Mutex<HashMap<usize, MethodSession, RandomState>>>);

struct MethodSession {
    /// The client's own session. The reference keeps the address from being given to another session.
    own: Weak<Session>,
    speaking: Arc<Session>,
}

impl Gate for MethodsAsToolsGate {
    /// The revision of a client that calls a method as a tool.
    type Pass = Option<Revision>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let Some(method) = stands_for(request) else { return Flow::Pass(None) };
        match self.become_method(request, method) {
            Ok(revision) => Flow::Pass(Some(revision)),
            Err(error) => Flow::Answer(MethodForm::Tool.answer(Err(error), Revision::LATEST)),
        }
    }

    fn leave(&self, revision: Self::Pass, outcome: &mut Result<Response, Error>) {
        let Some(revision) = revision else { return };
        let answer = std::mem::replace(outcome, Ok(Response::empty())).map(|response| response.to_raw());
        *outcome = MethodForm::Tool.answer(answer, revision);
    }
}

fn stands_for(request: &Request) -> Option<&'static str> {
    if request.method != Method::TOOLS_CALL || request.context.tool.is_some() {
        return None;
    }
    let method: &'static str = method::of_tool(&request.params.text("name")?)?;
    // Tool discovery knows its methods as tools itself: what is found belongs to the client's own session.
    let is_searched = method.starts_with("mgp/tools/") && method != method::TOOLS_VALIDATE;
    (!is_searched).then_some(method)
}

impl MethodsAsToolsGate {
    /// Makes the request the call of the method, in a session in which the method exists.
    fn become_method(&self, request: &mut Request, method: &'static str) -> Result<Revision, Error> {
        if request.kind == RequestKind::Notify {
            return Err(Error::invalid_request("a tool is called for its result, not by a notification"));
        }
        let mut params = MethodForm::Tool.params(request)?;
        if let Some(meta) = request.params.get("_meta") {
            params.set("_meta", meta);
        }
        let session = self.session(request.context.session()?);
        let revision = session.revision;
        request.context.session = Some(session);
        request.method = Method::new(method);
        request.params = params;
        Ok(revision)
    }

    /// Returns the session that speaks MGP in place of this one. A session without a way to its client gets one for
    /// this request only.
    fn session(&self, own: &Arc<Session>) -> Arc<Session> {
        if !own.outbox.is_open() {
            return Arc::new(speaking_mgp(own));
        }
        let mut kept = self.0.lock();
        kept.retain(|_, kept| kept.own.strong_count() > 0);
        let kept = kept.entry(Arc::as_ptr(own).addr()).or_insert_with(|| MethodSession {
            own: Arc::downgrade(own),
            speaking: Arc::new(speaking_mgp(own)),
        });
        kept.speaking.set_log_level(own.log_level());
        Arc::clone(&kept.speaking)
    }
}

fn speaking_mgp(session: &Session) -> Session {
    let all = Offer::new(ExtensionSet::standard());
    let mut speaking = Session::new(session.revision);
    speaking.peer.clone_from(&session.peer);
    speaking.capabilities = session.capabilities.clone();
    speaking.outbox = session.outbox.clone();
    speaking.set_log_level(session.log_level());
    speaking.mgp = Negotiated::agree(&all, &all);
    speaking
}

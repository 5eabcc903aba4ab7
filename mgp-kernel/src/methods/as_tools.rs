use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use foldhash::fast::RandomState;
use mgp_security::GateFuture;
use mgp_types::mgp::{AskedAs, ExtensionSet, Negotiated, Offer, method};
use mgp_types::{Error, Kind, Method, Request, Response, Revision, RpcService, Session};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;

/// Offers MGP's methods as tools. Makes [`MethodsAsTools`] services.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MethodsAsToolsLayer;

impl<S> Layer<S> for MethodsAsToolsLayer {
    type Service = MethodsAsTools<S>;

    fn layer(&self, inner: S) -> MethodsAsTools<S> {
        MethodsAsTools { inner, speaking: Speaking::default() }
    }
}

/// The service of [`MethodsAsToolsLayer`].
///
/// A call of the tool `mgp.health.ping`, in any of the three spellings, becomes the method of that name further in, and
/// its answer the tool's result: a plain MCP client can do what a peer that speaks MGP can. Who may do it is decided by
/// whoever serves the method. Only `mgp.tools.discover` and `mgp.tools.request` are ever listed: what manages the kernel
/// does not belong into a model's context.
///
/// Sits around all that serve methods, and behind what resolves tools, since no server's tool has such a name. Calls of
/// other tools pass untouched and cost a look at the first letters of the name.
#[derive(Debug, Clone)]
pub(crate) struct MethodsAsTools<S> {
    inner: S,
    speaking: Speaking,
}

/// The sessions in which clients without MGP call its methods, by the address of their own: what was begun in one, such
/// as a subscription, lasts as long as that.
#[derive(Debug, Clone, Default)]
struct Speaking(Arc<Mutex<HashMap<usize, Kept, RandomState>>>);

#[derive(Debug)]
struct Kept {
    /// It keeps the address from being another session's.
    own: Weak<Session>,
    speaking: Arc<Session>,
}

impl<S: RpcService<Future: 'static>> Service<Request> for MethodsAsTools<S> {
    type Response = Response;
    type Error = Error;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Some(method) = stands_for(&request) else { return GateFuture::passed(self.inner.call(request)) };
        match as_method(request, method, &self.speaking) {
            Ok((request, revision)) => {
                let answer = self.inner.call(request);
                let raw = |response: Response| response.to_raw();
                GateFuture::waiting(async move { AskedAs::Tool.answer(answer.await.map(raw), revision) })
            }
            Err(error) => {
                GateFuture::waiting(async move { AskedAs::Tool.answer(Err(error), Revision::LATEST) })
            }
        }
    }
}

fn stands_for(request: &Request) -> Option<&'static str> {
    if request.method != Method::TOOLS_CALL || request.context.tool.is_some() {
        return None;
    }
    let method = method::of_tool(&request.params.text("name")?)?;
    // Those who serve these know them as tools themselves.
    let known = method.starts_with("mgp/tools/") || method.starts_with("mgp/access/");
    (!known).then_some(method)
}

/// The call of the method, in a session in which the method exists.
fn as_method(
    mut request: Request,
    method: &'static str,
    speaking: &Speaking,
) -> Result<(Request, Revision), Error> {
    if request.kind == Kind::Notify {
        return Err(Error::invalid_request("a tool is called for its result, not by a notification"));
    }
    let mut params = AskedAs::Tool.params(&request)?;
    if let Some(meta) = request.params.get("_meta") {
        params.set("_meta", meta);
    }
    let session = speaking.session(request.context.session()?);
    let revision = session.revision;
    request.context.session = Some(session);
    request.method = Method::new(method);
    request.params = params;
    Ok((request, revision))
}

impl Speaking {
    /// The session that speaks MGP in place of this one. One without a way to its client is for this request only.
    fn session(&self, own: &Arc<Session>) -> Arc<Session> {
        if !own.outbox.is_open() {
            return Arc::new(speaking_mgp(own));
        }
        let mut kept = self.0.lock();
        kept.retain(|_, kept| kept.own.strong_count() > 0);
        let kept = kept
            .entry(Arc::as_ptr(own).addr())
            .or_insert_with(|| Kept { own: Arc::downgrade(own), speaking: Arc::new(speaking_mgp(own)) });
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

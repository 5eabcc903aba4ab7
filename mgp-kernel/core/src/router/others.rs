//! Messages for no server in particular: notifications, and methods that are not in the table of methods; and requests about
//! transactions, each of which is with one server.

use std::sync::Arc;

use mgp_types::ext::{ExtensionId, ExtensionIds};
use mgp_types::mgp::Refusal;
use mgp_types::{
    Error, MessageSender, Method, MethodRule, PassedMethods, Request, RequestKind, Response, code,
};

use super::named::named_server;
use super::{RouterFuture, Routes};
use crate::call::effects::unsupported;
use crate::servers::fan_out::{ask, to};
use crate::servers::upstream::Upstream;
use crate::visibility::CallerView;

/// The key of `_meta` under which a client names the server that a request is for.
pub(super) const SERVER_META: &str = "dev.cloto/mgp/server";

impl Routes {
    /// Sends a call of a method that is not in the table of methods to the server that the request names, or to the only
    /// one to which its operator has it passed.
    pub(super) fn unlisted(&self, mut request: Request) -> Result<RouterFuture, Error> {
        let upstream = self.passing(&request).inspect_err(|_| {
            request.context.note_refusal(Refusal::new("methods", "unknown-method"));
        })?;
        forget_name(&mut request);
        self.to_server(upstream.id(), request)
    }

    /// Sends a request about a transaction to the server that the request names, or to the only one that has transactions.
    pub(super) fn transaction(&self, mut request: Request) -> Result<RouterFuture, Error> {
        let upstream = self.server_of_transaction(&request)?;
        forget_name(&mut request);
        self.to_server(upstream.id(), request)
    }

    fn server_of_transaction(&self, request: &Request) -> Result<Arc<Upstream>, Error> {
        let unsupported = |message: &str| unsupported(code::METHOD_NOT_FOUND, message.to_owned());
        if !self.sections.config.load().effects.enabled {
            return Err(unsupported(
                "the kernel passes no transactions; `enabled` in [effects] of mgp.toml switches them on",
            ));
        }
        let view = CallerView::of(&self.sections.visibility, &request.context)?;
        if let Some(named) = name(request) {
            // Whether it has transactions is known when it is connected, for which the request waits.
            return named_server(&view.servers().collect::<Vec<_>>(), &named);
        }
        let has_transactions = |upstream: &Arc<Upstream>| {
            let declared = ExtensionIds::read(&upstream.capabilities(&view.principal));
            declared.has(ExtensionId::Transactions)
        };
        let servers: Vec<_> = view.servers().filter(has_transactions).collect();
        match &servers[..] {
            [only] => Ok(Arc::clone(only)),
            [] => Err(unsupported(
                "none of the connected servers has transactions; make the calls without one, and take them back yourself",
            )),
            several => {
                let ids: Vec<_> = several.iter().map(|upstream| upstream.id().as_str()).collect();
                Err(Error::invalid_params(format!(
                    "several servers have transactions: name one of `{}` in `_meta` as `{SERVER_META}`",
                    ids.join("`, `")
                )))
            }
        }
    }

    /// Handles a notification of a client.
    pub(super) fn notified(self: &Arc<Self>, request: Request) -> Result<RouterFuture, Error> {
        match request.method.as_str() {
            "notifications/initialized" => self.sections.changes.ready(&request.context),
            // These are handled by the connection: it knows the call that they are about, or there is none.
            "notifications/cancelled" | "notifications/progress" => {}
            // Nobody would see the result.
            "tools/call" => {
                return Err(Error::invalid_request("a tool is called by a request, with an `id`"));
            }
            name if is_for_servers(name) => {
                let folders = request.context.folders.as_ref();
                if let Some(folders) = folders.filter(|_| request.method == Method::ROOTS_CHANGED) {
                    folders.forget_roots();
                }
                return Ok(RouterFuture::of(Arc::clone(self).tell_all(request)));
            }
            // A request without an `id` expects no answer and gets none.
            _ => tracing::debug!("ignoring a notification that is for no server"),
        }
        Ok(RouterFuture::done(Response::empty()))
    }

    /// Passes a notification on to the servers that it can concern.
    async fn tell_all(self: Arc<Self>, mut request: Request) -> Result<Response, Error> {
        let named = name(&request);
        forget_name(&mut request);
        let view = CallerView::of(&self.sections.visibility, &request.context)?;
        let concerns = |upstream: &Arc<Upstream>| {
            let connection = upstream.connection_key(&view.principal);
            let Some(session) = upstream.session_on(&connection) else { return false };
            match &request.method {
                method if *method == Method::ROOTS_CHANGED => session.lasts(),
                method if method.is_mgp() => session.mgp.is_some(),
                method => method.rule().is_some() || passes(upstream, method),
            }
        };
        let is_named =
            |upstream: &Arc<Upstream>| named.as_ref().is_none_or(|named| named == upstream.id().as_str());
        let servers = view.servers().filter(|upstream| is_named(upstream) && concerns(upstream));
        for (server, outcome) in ask(servers.map(|upstream| to(&upstream, &request)).collect()).await {
            if let Err(error) = outcome {
                tracing::debug!(%server, %error, method = %request.method, "a notification was not passed on");
            }
        }
        Ok(Response::empty())
    }

    fn passing(&self, request: &Request) -> Result<Arc<Upstream>, Error> {
        let view = CallerView::of(&self.sections.visibility, &request.context)?;
        // A caller that reaches a server as a whole learns here whether it is there.
        let all: Vec<_> = view.servers().collect();
        let Some(named) = name(request) else {
            let mut passing = all.into_iter().filter(|upstream| passes(upstream, &request.method));
            let advice = match (passing.next(), passing.next()) {
                (Some(only), None) => return Ok(only),
                (None, _) => String::new(),
                _ => format!("; several servers have it: name one in `_meta` as `{SERVER_META}`"),
            };
            return Err(not_found(&request.method, &advice));
        };
        let upstream = named_server(&all, &named)?;
        if passes(&upstream, &request.method) {
            return Ok(upstream);
        }
        let advice = format!("; the server `{named}` gets it only if `pass_methods` of that server names it");
        Err(not_found(&request.method, &advice))
    }
}

/// Returns whether servers may get this notification: by the table of methods, or because some operator has it passed,
/// which decides each server by itself.
fn is_for_servers(name: &str) -> bool {
    match MethodRule::named(name) {
        Some(rule) => rule.kind == RequestKind::Notify && rule.is_sent_by(MessageSender::Client),
        None => name.starts_with("notifications/"),
    }
}

/// Returns whether the operator has this method passed to the server.
fn passes(upstream: &Upstream, method: &Method) -> bool {
    let patterns = upstream.config().pass_methods.iter().filter_map(|pattern| pattern.parse().ok());
    PassedMethods::of(patterns).has(method.as_str())
}

fn not_found(method: &Method, advice: &str) -> Error {
    let name: String = method.as_str().chars().take(MAX_NAME_CHARS).collect();
    Error::new(code::METHOD_NOT_FOUND, format!("method not found: {}{advice}", name.escape_debug()))
}

/// Returns the server that the request names.
fn name(request: &Request) -> Option<String> {
    request.meta(SERVER_META)?.to_text()
}

/// Removes the name of the server: the server need not be told it, and may be a kernel with servers of its own.
fn forget_name(request: &mut Request) {
    if let Some(meta) = request.meta_mut() {
        meta.remove(SERVER_META);
    }
}

const MAX_NAME_CHARS: usize = 64;

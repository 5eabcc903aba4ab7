//! What is for no server in particular: notifications, and methods that the kernel does not know.

use std::sync::Arc;

use mgp_types::{Error, Method, Object, Request, Response};

use super::Sight;
use super::every::{ask, to};
use super::forward::{RouterFuture, to_server};
use super::named::near;
use crate::parts::Parts;
use crate::upstream::Upstream;

/// The key of `_meta` under which a client names the server that a request is for.
pub(super) const SERVER_META: &str = "dev.cloto/mgp/server";

/// A method that the kernel does not know, for the server that the request names, or for the only one there is.
pub(super) fn call(parts: &Arc<Parts>, mut request: Request) -> RouterFuture {
    match server(parts, &request) {
        Ok(upstream) => {
            forget_name(&mut request);
            to_server(parts, upstream.id(), request)
        }
        Err(error) => RouterFuture::done(Err(error)),
    }
}

/// A notification of a client's.
pub(super) fn notified(parts: &Arc<Parts>, request: Request) -> RouterFuture {
    match request.method.as_str() {
        "notifications/initialized" => parts.changes.ready(&request.context),
        // They are the connection's: it knows the call that they are about, or there is none.
        "notifications/cancelled" | "notifications/progress" => {}
        "tools/call" => {
            // Nobody would see what came of it.
            return RouterFuture::done(Err(Error::invalid_request(
                "a tool is called by a request, with an `id`",
            )));
        }
        name if name.starts_with("notifications/") => {
            return RouterFuture::of(tell_all(Arc::clone(parts), request));
        }
        // What asks for something and expects no answer gets none.
        method => tracing::debug!(method, "ignoring a notification"),
    }
    RouterFuture::done(Ok(Response::empty()))
}

/// Passes a notification on to the servers that it can concern.
async fn tell_all(parts: Arc<Parts>, mut request: Request) -> Result<Response, Error> {
    let named = name(&request);
    forget_name(&mut request);
    let sight = Sight::of(&parts, &request.context)?;
    let concerns = |upstream: &Arc<Upstream>| {
        let line = upstream.line(sight.principal());
        let Some(session) = upstream.session_on(&line) else { return false };
        match &request.method {
            method if *method == Method::ROOTS_CHANGED => !session.revision.is_stateless(),
            method if method.is_mgp() => session.mgp.is_some(),
            _ => true,
        }
    };
    let is_named =
        |upstream: &Arc<Upstream>| named.as_ref().is_none_or(|named| named == upstream.id().as_str());
    let servers = sight.servers().filter(|upstream| is_named(upstream) && concerns(upstream));
    for (server, outcome) in ask(servers.map(|upstream| to(&upstream, &request)).collect()).await {
        if let Err(error) = outcome {
            tracing::debug!(%server, %error, method = %request.method, "a notification was not passed on");
        }
    }
    Ok(Response::empty())
}

fn server(parts: &Parts, request: &Request) -> Result<Arc<Upstream>, Error> {
    // MGP's own methods are answered here or nowhere: what they are about is the kernel's.
    if request.method.is_mgp() {
        return Err(Error::method_not_found(&request.method));
    }
    let sight = Sight::of(parts, &request.context)?;
    let mut servers: Vec<_> = sight.servers().collect();
    let Some(named) = name(request) else {
        return match (servers.pop(), servers.is_empty()) {
            (Some(only), true) => Ok(only),
            (_, true) => Err(Error::method_not_found(&request.method)),
            _ => Err(Error::new(
                mgp_types::code::METHOD_NOT_FOUND,
                format!(
                    "method not found: {}; if a server has it, name the server in `_meta` as `{SERVER_META}`",
                    request.method
                ),
            )),
        };
    };
    if let Some(upstream) = servers.iter().find(|upstream| upstream.id().as_str() == named) {
        return Ok(Arc::clone(upstream));
    }
    let near = near(&named, servers.iter().map(|upstream| upstream.id().as_str()));
    let like =
        if near.is_empty() { String::new() } else { format!("; did you mean `{}`?", near.join("`, `")) };
    Err(Error::invalid_params(format!("there is no server `{named}`{like}")))
}

fn name(request: &Request) -> Option<String> {
    request.meta(SERVER_META)?.to_text()
}

/// The server that gets the request need not be told its name, and may be a kernel with servers of its own.
fn forget_name(request: &mut Request) {
    let meta = request.params.get("_meta").and_then(|meta| Object::from_raw(&meta).ok());
    if let Some(mut meta) = meta.filter(|meta| meta.contains(SERVER_META)) {
        meta.remove(SERVER_META);
        request.params.set("_meta", meta.to_raw());
    }
}

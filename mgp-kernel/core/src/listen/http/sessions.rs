//! Sessions of revisions before 2026-07-28 at any of several kernels. Their ids are sealed with the address of the kernel that
//! began them, and a kernel passes a request of a session of another one on to it.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::select;
use futures_util::stream::poll_fn;
use futures_util::{FutureExt as _, StreamExt as _};
use http::header::{AUTHORIZATION, CONNECTION, HOST, ORIGIN, TRANSFER_ENCODING};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use mgp_transport::Accept;
use mgp_transport::http::header::SESSION_ID;
use mgp_transport::http::{HttpBody, Routes};
use mgp_transport::token::{TokenBinding, TokenPurpose};
use mgp_types::{Error, PeerCertificate, Principal, code};

use super::{Answer, MessageBody, uncached};
use crate::lifecycle::{Lifecycle, or_never};
use crate::replicas::{MARKS, OF_CLIENT, Peers};

/// The header by which a caller logged in, kept for the kernel that has the session, which checks it again.
#[derive(Clone)]
struct CallerKey(HeaderValue);

/// Keeps the key of a request of a session, which other kernels may have, before the check of the key takes it away.
///
/// A key with a proof or a certificate beside it is not kept, as these are good only where they were shown. So what another kernel
/// passed on goes no further: it came with the certificate of that kernel.
pub(super) fn keep_key<B>(peers: Option<&Peers>, request: &mut Request<B>) {
    let (headers, certificate) = (request.headers(), request.extensions().get::<PeerCertificate>());
    let is_bare = certificate.is_none() && !headers.contains_key("dpop");
    let is_passed = is_bare && peers.is_some() && headers.contains_key(SESSION_ID);
    if let Some(key) = headers.get(AUTHORIZATION).filter(|_| is_passed).cloned() {
        request.extensions_mut().insert(CallerKey(key));
    }
}

/// Answers a request whose key was checked: by the kernel that has its session, or by `routes`, to which a session that no
/// kernel has is unknown.
pub(super) async fn answer<A: Accept>(
    peers: &Peers,
    lifecycle: &Arc<Lifecycle>,
    routes: &Routes<A>,
    mut request: Request<MessageBody>,
) -> Answer {
    let binding = TokenBinding::new(TokenPurpose::SessionState, request.extensions().get::<Principal>());
    let key = request.extensions_mut().remove::<CallerKey>();
    let session = request.headers().get(SESSION_ID).and_then(|id| opened(peers, id, &binding));
    if let Some((id, owner)) = session {
        if owner == peers.address {
            request.headers_mut().insert(SESSION_ID, id);
        } else if let Some(CallerKey(key)) = key {
            request.headers_mut().insert(AUTHORIZATION, key);
            let (head, body) = request.into_parts();
            // The kernel of the session sees neither the host nor the origin that the client named.
            if let Some(refusal) = routes.server().refusal(&head) {
                return Ok(refusal);
            }
            let passed = pass_on(peers, &owner, lifecycle, Request::from_parts(head, body)).await;
            return Ok(passed.unwrap_or_else(|error| unanswered(peers, &owner, &error)));
        }
    }
    let mut response = routes.handle(request).await?;
    if let Some(id) = response.headers_mut().get_mut(SESSION_ID) {
        let session = format!("{} {}", id.to_str().unwrap_or_default(), peers.address);
        let sealed = peers.session_key.seal(session.as_bytes(), &binding, Duration::MAX).unwrap_or_default();
        *id = HeaderValue::try_from(sealed).unwrap_or(HeaderValue::from_static(""));
    }
    Ok(response)
}

/// Passes a request on, and returns the answer as it comes. It breaks off where that of the other kernel does, or when that is
/// lost; a stream of no call ends with this kernel.
async fn pass_on(
    peers: &Peers,
    owner: &str,
    lifecycle: &Arc<Lifecycle>,
    mut request: Request<MessageBody>,
) -> Result<Response<HttpBody>, Error> {
    let (is_listening, lifecycle) = (request.method() == Method::GET, Arc::clone(lifecycle));
    let stopping = async move { or_never(is_listening.then(|| lifecycle.stopping())).await };
    let losing = peers.lost(owner.to_owned()).map(|()| Some(Error::disconnected(UNANSWERED)));
    let ending = select(losing.boxed(), stopping.map(|()| None::<Error>).boxed());
    let mut ending = ending.map(|ended| ended.factor_first().0);
    *request.uri_mut() = request.uri().path_and_query().cloned().map_or_else(Uri::default, Uri::from);
    request.headers_mut().remove(CONNECTION);
    // What the client said there counts for nothing, or was judged.
    for (name, value) in [(MARKS, OF_CLIENT), (HOST, "localhost"), (ORIGIN, "http://localhost")] {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let sending = Box::pin(async { peers.client(owner)?.pass_on(request).await });
    let answer = tokio::select! {
        answer = sending => answer?,
        _ = &mut ending => return Err(Error::disconnected(UNANSWERED)),
    };
    let (mut head, mut body) = answer.into_parts();
    // The connection to the client is another one.
    head.headers.remove(CONNECTION);
    head.headers.remove(TRANSFER_ENCODING);
    let pieces = poll_fn(move |cx| match ending.poll_unpin(cx) {
        Poll::Ready(end) => Poll::Ready(end.map(Err)),
        Poll::Pending => body.poll_next_unpin(cx),
    });
    Ok(Response::from_parts(head, pieces.boxed().into()))
}

/// Returns the answer to a request that the kernel of its session did not answer: 404, which ends a session, only where that
/// kernel is gone.
fn unanswered(peers: &Peers, owner: &str, error: &Error) -> Response<HttpBody> {
    tracing::warn!(%owner, %error, "the kernel with a session does not answer");
    let opening = error.source().filter(|cause| cause.is::<io::Error>());
    let refused = |cause: &io::Error| cause.kind() == io::ErrorKind::ConnectionRefused;
    let cause = opening.and_then(StdError::source).and_then(<dyn StdError>::downcast_ref);
    let is_gone = cause.is_some_and(refused) || !peers.seen.borrow().contains(owner);
    let (status, why) = match (error.code(), opening) {
        (code::UPSTREAM_UNAVAILABLE, None) => (StatusCode::BAD_GATEWAY, UNANSWERED),
        (code::UPSTREAM_UNAVAILABLE, Some(_)) if is_gone => (StatusCode::NOT_FOUND, GONE),
        _ => (StatusCode::SERVICE_UNAVAILABLE, UNREACHED),
    };
    uncached(status, "text/plain; charset=utf-8", why)
}

/// Returns the id of a session as its kernel knows it, and the address of that, if a kernel sealed them for this caller.
fn opened(peers: &Peers, id: &HeaderValue, binding: &TokenBinding) -> Option<(HeaderValue, String)> {
    let session = peers.session_key.open(id.to_str().ok()?, binding).ok()?;
    let (id, owner) = std::str::from_utf8(&session).ok()?.split_once(' ')?;
    Some((HeaderValue::from_str(id).ok()?, owner.to_owned()))
}

const GONE: &str = "the kernel of the session is gone: begin a new session with `initialize`\n";
const UNREACHED: &str = "the kernel of the session is not reached: try again, and see the log of this one\n";
const UNANSWERED: &str = "the kernel of the session was lost, and may have done what it was asked for\n";

#[cfg(test)]
mod tests;

//! Sessions of revisions before 2026-07-28 at any of several kernels. Their ids are sealed with the address of the kernel that
//! began them, and a kernel passes a request of a session of another one on to it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select;
use http::header::{AUTHORIZATION, CONNECTION, TRANSFER_ENCODING};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::client::conn::http1::handshake;
use hyper::rt::{Read, Write};
use mgp_transport::Accept;
use mgp_transport::http::header::SESSION_ID;
use mgp_transport::http::{HttpBody, Routes};
use mgp_transport::token::{TokenBinding, TokenPurpose};
use mgp_types::{PeerCertificate, Principal};

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
        } else if let Some(key) = key {
            let opening = async { peers.client(&owner)?.open().await };
            match opening.await {
                Ok(stream) => return Ok(pass_on(stream, key, Arc::clone(lifecycle), request).await),
                Err(error) => tracing::warn!(%owner, %error, "the kernel with a session is not reached"),
            }
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

/// Passes a request on with the caller's key, and returns the answer as it comes. The connection lasts until the answer was read,
/// or its reader is gone; for a stream of no call, until this kernel ends.
async fn pass_on(
    stream: impl Read + Write + Unpin + Send + 'static,
    CallerKey(key): CallerKey,
    lifecycle: Arc<Lifecycle>,
    mut request: Request<MessageBody>,
) -> Response<HttpBody> {
    let is_listening = *request.method() == Method::GET;
    let ending = async move { or_never(is_listening.then(|| lifecycle.stopping())).await };
    request.headers_mut().insert(AUTHORIZATION, key);
    // What the client said there counts for nothing.
    request.headers_mut().insert(MARKS, HeaderValue::from_static(OF_CLIENT));
    let asking = async {
        let (mut sender, connection) = handshake::<_, MessageBody>(stream).await?;
        tokio::spawn(select(connection, Box::pin(ending)));
        sender.send_request(request).await
    };
    let Ok(mut answer) = asking.await else {
        return uncached(StatusCode::BAD_GATEWAY, "text/plain; charset=utf-8", UNANSWERED);
    };
    // The connection to the client is another one.
    answer.headers_mut().remove(CONNECTION);
    answer.headers_mut().remove(TRANSFER_ENCODING);
    answer.map(HttpBody::from)
}

/// Returns the id of a session as its kernel knows it, and the address of that, if a kernel sealed them for this caller.
fn opened(peers: &Peers, id: &HeaderValue, binding: &TokenBinding) -> Option<(HeaderValue, String)> {
    let session = peers.session_key.open(id.to_str().ok()?, binding).ok()?;
    let (id, owner) = std::str::from_utf8(&session).ok()?.split_once(' ')?;
    Some((HeaderValue::from_str(id).ok()?, owner.to_owned()))
}

const UNANSWERED: &str = "the kernel of the session was lost, and may have done what it was asked for\n";

#[cfg(test)]
mod tests;

//! What is said about a call that was stopped (§12.7): to whoever stopped it, and to whoever made it.

use std::sync::Arc;

use mgp_types::mgp::StreamCancelled;
use mgp_types::{BoxFuture, Error, RawJson, Request, Response, StreamId};

use super::active::Streamed;
use super::complete::write_summary;
use super::content::Content;
use super::registry::Registry;

/// Has calls stopped at the servers that a gateway made them at.
pub trait CancelsUpstream: Send + Sync + 'static {
    /// Asks the server that has the call on the stream of `request`, an `mgp/stream/cancel`, to stop it. Returns what the
    /// server answers; `None` if it cannot be asked, or does not say that it stopped the call.
    fn cancel(&self, request: Request) -> BoxFuture<'static, Option<Response>>;
}

/// Answers with what the server `asked` says that stopped the call; stops it here if the server did not.
pub(super) async fn at_server(
    calls: Arc<Registry>,
    stream: StreamId,
    asked: BoxFuture<'static, Option<Response>>,
) -> Result<Response, Error> {
    Ok(asked.await.unwrap_or_else(|| answer(&calls, stream)))
}

/// Stops the call and answers whoever asked for it.
pub(super) fn answer(calls: &Registry, stream: StreamId) -> Response {
    calls.cancel(stream).unwrap_or_else(|| {
        let answer = RawJson::from_value(&StreamCancelled::not_active());
        Response::plain(answer.unwrap_or_else(|_| RawJson::empty_object()))
    })
}

/// The call was stopped, and this is what there was.
pub(super) fn partial(content: &Content) -> Response {
    let mut out = br#"{"cancelled":true,"partial_result":{"content":"#.to_vec();
    content.write(&mut out);
    if content.is_truncated() {
        out.extend_from_slice(br#","truncated":true"#);
    }
    out.extend_from_slice(b"}}");
    Response::plain(RawJson::from_written(out))
}

/// The result of the call itself, which is answered in any case.
pub(super) fn result(streamed: &Streamed) -> Response {
    let mut out = br#"{"content":"#.to_vec();
    streamed.content.write(&mut out);
    out.push(b',');
    let summary = streamed.summary;
    write_summary(&mut out, &if streamed.content.is_truncated() { summary.truncated() } else { summary });
    out.push(b'}');
    Response::plain(RawJson::from_written(out))
}

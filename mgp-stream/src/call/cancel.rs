//! The answers to a cancelled call (§12.7): to the peer that cancelled it, and to the peer that made it.

use std::sync::Arc;

use mgp_types::mgp::StreamCancelled;
use mgp_types::{BoxFuture, Error, RawJson, Request, Response, StreamId};

use super::active::StreamedResult;
use super::complete::write_summary;
use super::content::StreamedContent;
use super::registry::CallRegistry;

/// A gateway's way to cancel calls at the servers behind it.
pub trait CancelsUpstream: Send + Sync + 'static {
    /// Asks the server that has the call on the stream of `request`, an `mgp/stream/cancel`, to cancel it. Returns the
    /// answer of the server, or `None` if the server cannot be asked or does not say that it cancelled the call.
    fn cancel(&self, request: Request) -> BoxFuture<'static, Option<Response>>;
}

/// Answers with the answer of the server in `asked`; cancels the call here if the server did not.
pub(super) async fn at_server(
    calls: Arc<CallRegistry>,
    stream: StreamId,
    asked: BoxFuture<'static, Option<Response>>,
) -> Result<Response, Error> {
    Ok(asked.await.unwrap_or_else(|| answer(&calls, stream)))
}

/// Cancels the call and returns the answer to the cancellation.
pub(super) fn answer(calls: &CallRegistry, stream: StreamId) -> Response {
    calls.cancel(stream).unwrap_or_else(|| {
        let answer = RawJson::from_value(&StreamCancelled::not_active());
        Response::plain(answer.unwrap_or_else(|_| RawJson::empty_object()))
    })
}

/// Returns the answer to a cancellation, with the content streamed so far.
pub(super) fn partial(content: &StreamedContent) -> Response {
    let mut out = br#"{"cancelled":true,"partial_result":{"content":"#.to_vec();
    content.write(&mut out);
    if content.is_truncated() {
        out.extend_from_slice(br#","truncated":true"#);
    }
    out.extend_from_slice(b"}}");
    Response::plain(RawJson::from_written(out))
}

/// Returns the result of the cancelled call itself, which is answered in any case.
pub(super) fn result(streamed: &StreamedResult) -> Response {
    let mut out = br#"{"content":"#.to_vec();
    streamed.content.write(&mut out);
    out.push(b',');
    let summary = streamed.summary;
    write_summary(&mut out, &if streamed.content.is_truncated() { summary.truncated() } else { summary });
    out.push(b'}');
    Response::plain(RawJson::from_written(out))
}

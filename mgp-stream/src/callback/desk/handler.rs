use std::future::Future;

use mgp_types::mgp::CallbackRequest;
use mgp_types::{BoxFuture, Context, RawJson};

/// Answers callbacks: shows them to a user, or decides by a policy. Every such function is one.
///
/// It is given what the server asks, and the context in which it came. The answer is any JSON: for a confirmation or a
/// selection one of the options as a text, `null` for a user who closed the question. Without an answer nothing is
/// sent, and the server waits until its time is over; so it is with types that are not known, unless the handler knows
/// them. What comes back for a notification is not sent. The future is dropped when the time of the server is over.
pub trait CallbackHandler: Send + Sync + 'static {
    /// Answers one callback.
    fn handle(&self, request: CallbackRequest, context: Context) -> BoxFuture<'static, Option<RawJson>>;
}

impl<F, Answering> CallbackHandler for F
where
    F: Fn(CallbackRequest, Context) -> Answering + Send + Sync + 'static,
    Answering: Future<Output = Option<RawJson>> + Send + 'static,
{
    fn handle(&self, request: CallbackRequest, context: Context) -> BoxFuture<'static, Option<RawJson>> {
        Box::pin(self(request, context))
    }
}

//! The future of [`Auth`](super::Auth), which removes the tools that a key may not see from lists of tools.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::{CacheScope, Error, Response, ResultShape};
use pin_project_lite::pin_project;

use crate::GateFuture;
use crate::listing::keep_listed;

pin_project! {
    /// The future of a gate that removes the tools that the caller may not see from a list of tools.
    #[must_use = "futures do nothing unless polled"]
    pub struct ListingFuture<F>
    where
        F: Future,
    {
        #[pin]
        gate: GateFuture<F>,
        answer: ListedAnswer,
    }
}

/// The treatment of the answer.
enum ListedAnswer {
    /// The answer stays as it is.
    AsItIs,
    /// The answer is a list that keeps all its tools and becomes private to the caller.
    AllListed,
    /// The answer is a list that keeps the tools whose names the function accepts.
    Listed(Box<dyn Fn(&str) -> bool + Send + Sync>),
}

impl<F: Future> ListingFuture<F> {
    /// Returns a future that leaves the answer of the gate as it is.
    pub(super) const fn whole(gate: GateFuture<F>) -> Self {
        Self { gate, answer: ListedAnswer::AsItIs }
    }

    /// Returns a future that keeps all tools of the list with which the service further in answers.
    pub(super) fn all(future: F) -> Self {
        Self { gate: GateFuture::passed(future), answer: ListedAnswer::AllListed }
    }

    /// Returns a future that keeps only the tools accepted by `may` in the list with which the service further in
    /// answers.
    pub(super) fn only(future: F, may: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { gate: GateFuture::passed(future), answer: ListedAnswer::Listed(Box::new(may)) }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for ListingFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = ready!(this.gate.poll(cx));
        Poll::Ready(match this.answer {
            ListedAnswer::AsItIs => outcome,
            ListedAnswer::AllListed => outcome.and_then(keep_all),
            ListedAnswer::Listed(may) => outcome.and_then(|response| keep_listed(response, &*may)),
        })
    }
}

mgp_types::partial_debug!([F: Future] ListingFuture<F>, self => gate: self.gate);

/// Makes a result of `tools/list` private, and leaves it otherwise as it is. A result that cannot have members
/// specific to a protocol era is not parsed: for thousands of tools, parsing takes longer than everything else.
///
/// # Errors
/// Fails if the result is not an object, or if its `tools` are not a list.
fn keep_all(mut response: Response) -> Result<Response, Error> {
    if response.context.shape != ResultShape::Plain || response.context.stamp.is_some() {
        return keep_listed(response, |_| true);
    }
    if let Some(cache) = &mut response.context.cache {
        cache.scope = CacheScope::Private;
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use mgp_types::{CacheHint, RawJson};

    use super::*;

    fn list() -> RawJson {
        RawJson::parse(r#"{"tools":[{"name":"echo"}],"cacheScope":"public"}"#).unwrap()
    }

    #[test]
    fn a_list_of_our_own_is_passed_on_as_the_bytes_it_is_and_is_private() {
        let mut response = Response::plain(RawJson::parse(r#"{"tools":[{"name":"echo"}]}"#).unwrap());
        response.context.cache = Some(CacheHint { ttl_ms: 1, scope: CacheScope::Public });
        let bytes = response.result.as_bytes().as_ptr();
        let kept = keep_all(response).unwrap();
        assert_eq!(kept.result.as_bytes().as_ptr(), bytes);
        assert_eq!(kept.context.cache.map(|cache| cache.scope), Some(CacheScope::Private));
    }

    #[test]
    fn a_list_that_calls_itself_public_is_private_even_if_all_of_it_is_seen() {
        let kept = keep_all(Response::new(list())).unwrap();
        assert_eq!(kept.result.as_bytes(), br#"{"tools":[{"name":"echo"}],"cacheScope":"private"}"#);
    }
}

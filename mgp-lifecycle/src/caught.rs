//! Panics of given functions, turned into errors.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use mgp_types::Error;

/// Returns the result of `make` and its future; a panic in either is an error. The functions that a supervisor is given
/// may be wrong, and its server has to be closed all the same.
pub(crate) async fn caught<F: Future>(make: impl FnOnce() -> F) -> Result<F::Output, Error> {
    let future = catch_unwind(AssertUnwindSafe(make)).map_err(|_| panicked())?;
    let mut future = pin!(future);
    // The future is not polled again after a panic, so that its broken state is not seen.
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(_) => Poll::Ready(Err(panicked())),
    })
    .await
}

fn panicked() -> Error {
    // The panic hook has got the message.
    Error::internal("a function of the supervisor panicked")
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_wherever_it_happens() {
        assert_eq!(caught(|| ready(1)).await.unwrap(), 1);
        let at_once: Result<(), _> = caught(|| -> std::future::Ready<()> { panic!("at once") }).await;
        let later: Result<(), _> = caught(|| async { panic!("later") }).await;
        for outcome in [at_once, later] {
            assert_eq!(outcome.unwrap_err().code(), mgp_types::code::INTERNAL_ERROR);
        }
    }
}

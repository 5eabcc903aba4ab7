//! Work that goes on though nobody waits for it.

use std::panic::resume_unwind;

use mgp_types::Error;
use tracing::Instrument as _;

/// Runs `work` to its end, even if the caller does not wait for it.
pub(crate) async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::spawn(work.in_current_span()).await;
    done.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(_) => {
            Err(Error::internal("the program ends; ask again when it runs, and learn what became of it"))
        }
    })
}

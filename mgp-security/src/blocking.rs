//! A way to run blocking work of the stores on threads that may wait for a disk.

use crate::StoreError;

/// Runs `work` on a thread that may wait for a disk. The caller has to be within a tokio runtime.
///
/// # Errors
/// The errors of `work`; a panic in it is reported as [`StoreError::Unavailable`].
///
/// # Cancel safety
/// Once it has begun, `work` runs to its end, even if the returned future is dropped.
pub(crate) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| Err(StoreError::Unavailable(Box::new(panic))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_told_as_an_error() {
        let outcome = off_the_runtime::<()>(|| panic!("the disk is on fire")).await;
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))));
    }
}

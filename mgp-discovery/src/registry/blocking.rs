use super::StoreError;

/// Does `work` on a thread that may wait for a disk. It needs a tokio runtime.
///
/// # Cancel safety
/// Once it has begun, `work` is done to its end, whether or not anybody waits for it.
pub(super) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| Err(StoreError::Unavailable(Box::new(panic))))
}

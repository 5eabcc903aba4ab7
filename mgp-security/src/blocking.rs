use crate::StoreError;

/// Does `work` on a thread that may wait for a disk. It needs a tokio runtime.
///
/// # Errors
/// Those of `work`; a panic in it is [`StoreError::Unavailable`].
///
/// # Cancel safety
/// Once it has begun, `work` is done to its end, whether or not anybody waits for it.
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

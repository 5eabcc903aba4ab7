//! Handlers whose types are erased.

use std::fmt;
use std::sync::Arc;

/// A handler that takes an `A` and returns an `R`, with its type erased.
pub(crate) struct Erased<A, R>(Arc<dyn Fn(A) -> R + Send + Sync>);

impl<A, R> Erased<A, R> {
    pub(crate) fn new(handler: impl Fn(A) -> R + Send + Sync + 'static) -> Self {
        Self(Arc::new(handler))
    }

    pub(crate) fn call(&self, argument: A) -> R {
        (self.0)(argument)
    }
}

impl<A, R> Clone for Erased<A, R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<A, R> fmt::Debug for Erased<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("handler")
    }
}

//! Streamed results, progress and cancellation (MGP §12).
mod active;
mod cancel;
mod complete;
mod content;
mod future;
mod gap;
mod layer;
mod pace;
mod progress;
mod registry;
mod resend;
mod writer;

pub use self::future::StreamFuture;
pub use self::layer::{Stream, StreamLayer};
pub use self::progress::{Progress, ProgressForms};

#[cfg(test)]
mod doubles;
#[cfg(test)]
mod tests;

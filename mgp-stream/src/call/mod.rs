//! Streamed results, progress and cancellation (MGP §12).
mod active;
mod assembly;
mod cancel;
mod complete;
mod content;
mod feed;
mod flow;
mod future;
mod gap;
mod layer;
mod pace;
mod progress;
mod reader;
mod registry;
mod resend;
mod summary;
mod writer;

pub use self::assembly::{Assembly, Piece};
pub use self::feed::Part;
pub use self::future::StreamFuture;
pub use self::layer::{Stream, StreamLayer};
pub use self::progress::{Progress, ProgressForms};
pub use self::reader::StreamReader;
pub use self::summary::summary;

#[cfg(test)]
mod doubles;
#[cfg(test)]
mod tests;

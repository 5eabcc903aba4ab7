//! Calls at several servers that are taken back together.
//!
//! Each server knows the calls that it was sent; only the client knows all of them. So the client keeps the log: the book of
//! transactions of `mgp-lifecycle`, in memory or in a store.

mod run;
mod server;
mod undo;

pub use self::run::{Saga, SagaBuilder, SagaOutcome};
pub use self::undo::{SagaEntry, SagaStep, UndoCall};

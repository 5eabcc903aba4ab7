//! Calls at several servers that are taken back together.
//!
//! Each server knows the calls that it was sent; only the client knows all of them. So the client keeps the log: the book of
//! transactions of `mgp-lifecycle`, in memory or in a store.

mod builder;
mod run;
mod server;
mod step;
mod undo;

pub use self::builder::SagaBuilder;
pub use self::run::{Saga, SagaOutcome};
pub use self::step::{SagaEntry, SagaStep};
pub use self::undo::UndoCall;

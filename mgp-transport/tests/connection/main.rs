//! One connection: which answer belongs to which call, the order of messages, and time limits.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod batches;
#[path = "../support/doubles.rs"]
mod doubles;
mod order;
#[path = "../support/reader.rs"]
mod reader;
mod same_id;
mod slow_peer;
mod too_long;

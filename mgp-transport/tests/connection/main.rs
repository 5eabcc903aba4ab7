//! One connection: whose answer is whose, what comes before what, and how long a peer is waited for.
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

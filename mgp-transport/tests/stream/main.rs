//! Tests of one connection over a stream of bytes: the messages that a peer may send, and the call that each answer belongs to.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod batches;
mod calling;
mod eras;
mod extension_errors;
mod order;
mod relay;
mod same_id;
mod serving;
mod slow;
mod slow_peer;
#[path = "../support/mod.rs"]
mod support;
mod too_long;
mod trace;

//! Messages about a call over a byte stream: the ids on the wire, the streams above it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod calling;
#[path = "../support/doubles.rs"]
mod doubles;
#[path = "../support/reader.rs"]
mod reader;
mod relay;
mod serving;
mod slow;

//! Messages about a call over a byte stream: the ids on the wire, the streams above it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod calling;
mod doubles;
mod relay;
mod serving;
mod slow;

//! The answers of a server over HTTP, in both eras.
#![cfg(feature = "http-server")]
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod about_calls;
mod authorization;
mod disconnects;
mod head;
mod limits;
mod peer;
mod resuming;
mod sessions;
mod socket;
mod sse;
mod stack;
mod stateless;

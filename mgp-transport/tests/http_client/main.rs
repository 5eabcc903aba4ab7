//! The client side of HTTP against a scripted server, over connections in memory.
#![cfg(feature = "http-client")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod about_calls;
mod authorize;
mod early;
mod legacy;
mod redirect;
mod resume;
mod server;
mod session;
mod stateless;
#[path = "../support/mod.rs"]
mod support;

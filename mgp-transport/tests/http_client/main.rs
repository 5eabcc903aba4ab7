//! The client side of HTTP against a scripted server, over connections in memory.
#![cfg(feature = "http-client")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod about_calls;
mod authorize;
#[path = "../support/doubles.rs"]
mod doubles;
mod early;
mod legacy;
#[path = "../support/reader.rs"]
mod reader;
mod redirect;
mod resume;
mod server;
mod session;
mod stateless;

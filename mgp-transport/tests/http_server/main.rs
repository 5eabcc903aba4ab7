//! The answers of a server over HTTP, in both eras.
#![cfg(feature = "http-server")]
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod about_calls;
mod authorization;
mod disconnects;
mod head;
#[cfg(feature = "tls-server")]
mod http2;
#[cfg(feature = "tls-server")]
mod http2_bounds;
mod limits;
#[cfg(all(feature = "tls", feature = "tls-server"))]
mod mutual_tls;
mod peer;
mod resuming;
#[cfg(feature = "tls-server")]
mod secure;
mod sessions;
mod socket;
mod sse;
mod stack;
mod stateless;
#[path = "../support/mod.rs"]
mod support;
#[cfg(feature = "tls-server")]
mod tls;

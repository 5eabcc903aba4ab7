//! The optional extensions as a client uses them, against servers of the SDK and against peers that are written line by
//! line.

#![cfg(feature = "ext")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod advice;
mod approvals;
mod death;
mod effects;
mod envelopes;
mod hints;
mod http;
mod manifest;
mod office;
mod outputs;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../client/peer.rs"]
mod peer;
mod progress;
mod retries;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../faults/rng.rs"]
mod rng;
mod saga_kills;
mod saga_log;
mod sagas;
mod scopes;
mod servers;
mod subscriptions;
mod tool_versions;

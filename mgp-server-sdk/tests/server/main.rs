//! Servers and what their clients see, frame by frame, in both eras.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg_attr(
    not(all(feature = "ext", feature = "stdio")),
    allow(dead_code, reason = "the other tests use the rest of it")
)]

mod asking;
#[cfg(feature = "ext")]
mod batches;
mod changes;
#[cfg(all(feature = "ext", feature = "stdio"))]
mod checkpoints;
#[cfg(all(feature = "ext", feature = "stdio"))]
mod confirmations;
#[cfg(feature = "ext")]
mod declared_results;
#[cfg(all(feature = "ext", feature = "stdio"))]
mod effects;
#[cfg(feature = "ext")]
mod envelope_values;
#[cfg(feature = "ext")]
mod envelopes;
mod gates;
mod handshake;
#[cfg(all(feature = "ext", feature = "stdio"))]
mod hints;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "ext")]
mod limits;
#[cfg(feature = "ext")]
mod manifest;
#[cfg(all(feature = "ext", feature = "http"))]
mod multipart;
mod open;
mod peer;
#[cfg(all(feature = "ext", feature = "stdio"))]
mod references;
#[cfg(feature = "ext")]
mod registration;
#[cfg(feature = "ext")]
mod registries;
#[cfg(all(feature = "ext", feature = "stdio"))]
mod registry;
#[cfg(feature = "ext")]
mod resource_cache;
mod resources_and_prompts;
mod security;
#[cfg(all(feature = "ext", feature = "stdio"))]
mod session_state;
mod settings;
#[cfg(feature = "ext")]
mod signatures;
#[cfg(feature = "ext")]
mod single_extensions;
#[cfg(feature = "ext")]
mod structured_failures;
#[cfg(all(feature = "ext", feature = "stdio"))]
mod subscriptions;
#[cfg(feature = "ext")]
mod suite;
mod tasks;
mod tools;
#[cfg(all(unix, feature = "unix"))]
mod unix;
#[cfg(feature = "ext")]
mod validators;

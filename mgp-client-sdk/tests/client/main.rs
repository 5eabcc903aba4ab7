//! The client against peers that are written line by line, in both eras.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cache;
mod calls;
mod handlers;
mod handshake;
mod inputs;
mod memory;
mod pages;
mod peer;
mod recorded;
mod subscriptions;
mod tasks;
mod timeouts;

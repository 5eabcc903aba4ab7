//! Clients against servers that misbehave, and servers against clients that do: what happens follows from a
//! seed, and what must hold is checked after every run.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and says why")]

mod clients;
mod frames;
mod guest;
mod invariants;
#[cfg(target_os = "linux")]
mod machine;
mod peer;
mod pipe;
mod play;
#[cfg(target_os = "linux")]
mod processes;
mod record;
mod rng;
mod runner;
mod schedule;
mod servers;
mod storms;
mod turn;
mod visit;

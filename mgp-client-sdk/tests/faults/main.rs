//! Clients against servers that misbehave, and servers against clients that do. What happens on both sides
//! follows from a seed; what must hold is checked after every run.
//!
//! | file | holds |
//! |---|---|
//! | `rng`, `schedule`, `turn` | what the clients do, and what a server does with each request, by seed |
//! | `peer`, `frames`, `pipe`, `record` | the scripted server, its words, its streams, and what it saw |
//! | `play`, `invariants` | what the clients see, and what has to hold of it |
//! | `guest`, `visit` | a client that misbehaves, and what it sees of a server |
//! | `runner`, `tally` | runs a family of seeds, looks for panics and for tasks that are left, and counts |
//! | `clients`, `servers` | the families of plain calls, of either side |
//! | `reading` | streamed results: a client against a server by hand |
//! | `processes`, `machine` | real servers that are killed, and what is left of them |
//!
//! `mgp-stream` and `mgp-lifecycle` play schedules of callbacks, events, retries and supervised servers by themselves,
//! and `sections` has our servers stream to clients of all kinds.
//!
//! A seed that fails is told with its schedule; `FAULT_SEED=1234 cargo test -p mgp-client-sdk --test faults`
//! runs it alone. `FAULT_SECONDS=120 cargo test -p mgp-client-sdk --test faults processes` kills servers for so
//! long.

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
mod reading;
mod record;
mod rng;
mod runner;
mod schedule;
mod servers;
mod tally;
mod turn;
mod visit;

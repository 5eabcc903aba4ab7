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
//! | `stage`, `caller` | what the other families are made of: a server by hand, and a client by hand |
//! | `reading`, `hosting` | streamed results: a client against a scripted server, and a server against a client |
//! | `answering`, `asking` | callbacks, the same way |
//! | `events` | events over connections that break and come back |
//! | `retrying` | calls through the layers that try again |
//! | `supervising` | servers that are kept alive |
//! | `storms` | more of one thing than a client has room for |
//! | `processes`, `machine` | real servers that are killed, and what is left of them |
//!
//! A seed that fails is told with its schedule; `FAULT_SEED=1234 cargo test -p mgp-client-sdk --test faults`
//! runs it alone. `FAULT_SECONDS=120 cargo test -p mgp-client-sdk --test faults processes` kills servers for so
//! long.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and says why")]

mod answering;
mod asking;
mod caller;
mod clients;
mod driver;
mod events;
mod frames;
mod guest;
mod hosting;
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
mod retrying;
mod rng;
mod runner;
mod schedule;
mod servers;
mod stage;
mod storms;
mod supervising;
mod tally;
mod turn;
mod visit;

//! All of security put on top of each other, between clients and servers of both eras.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod approval;
mod bypass;
mod confirming;
mod definitions;
mod events;
mod front;
mod held;
mod holding;
mod kernel;
mod lifecycle;
mod owasp;
mod pairings;
mod recorded;
mod restarts;
mod upstream;

use mgp_types::Revision;

/// The two eras every test runs in unless its name says otherwise.
const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

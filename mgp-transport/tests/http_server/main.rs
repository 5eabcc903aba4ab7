//! What a server says over HTTP, in both eras.
#![cfg(feature = "http-server")]

mod disconnects;
mod head;
mod limits;
mod peer;
mod resuming;
mod sessions;
mod socket;
mod sse;
mod stack;
mod stateless;

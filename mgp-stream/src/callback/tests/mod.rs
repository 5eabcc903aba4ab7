//! Tests of callbacks, with both sides.

mod attack;
mod bridge;
mod native;
mod owners;
mod responder;
mod robust;
mod schedule;

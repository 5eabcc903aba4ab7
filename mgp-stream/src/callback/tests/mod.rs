//! Tests of callbacks, with both sides.

mod attack;
mod bridge;
mod desk;
mod native;
mod owners;
mod robust;
mod schedule;

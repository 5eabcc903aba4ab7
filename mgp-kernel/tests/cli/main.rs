//! The program itself, as people and scripts run it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod audit;
mod clients;
mod edit;
mod help;
mod home;
mod kernel;
mod keys;
mod network;
mod rows;
mod rules;
mod serving;

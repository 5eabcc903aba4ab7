//! The operations by which operators manage a running kernel, where MGP has no method for it.
//!
//! Each operation is a type in the file of its noun: its fields are the params of a method `kernel/…` and, where a command
//! of `mgp` does just that, the options of the command; its reply is one type with a text for people. [`list`] has all
//! operations in one list, by which the router, the commands and whatever else is to manage a kernel call them: by name,
//! with JSON in and JSON out.
//!
//! The commands of `mgp` are clients that call them, over the kernel's socket or in memory.

pub(crate) mod access;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod clients;
pub(crate) mod cluster;
pub(crate) mod config;
pub(crate) mod definition_status;
pub(crate) mod export;
mod gate;
pub(crate) mod keys;
pub(crate) mod list;
pub(crate) mod operation;
pub(crate) mod operators;
pub(crate) mod permissions;
pub(crate) mod pins;
pub(crate) mod questions;
pub(crate) mod registrations;
pub(crate) mod server_additions;
pub(crate) mod server_orders;
pub(crate) mod servers;
pub(crate) mod status;
pub(crate) mod tools;

pub(crate) use self::gate::{ProofGate, answer, is_for_agents};

//! The operations by which operators manage a running kernel, where MGP has no method for it.
//!
//! Each operation is a type in the file of its noun: its fields are the params of a method `kernel/…` and, where a command
//! of `mgp` does just that, the options of the command; its reply is one type with a text for people. [`list`] has all
//! operations in one list, by which the router, the commands and whatever else is to manage a kernel call them: by name,
//! with JSON in and JSON out.
//!
//! The commands of `mgp` are clients that call them, over the kernel's socket or in memory.

pub mod access;
pub mod audit;
pub mod backup;
pub mod clients;
pub mod cluster;
pub mod config;
pub mod config_import;
pub mod definition_status;
pub mod export;
mod gate;
pub mod keys;
pub mod list;
pub mod operation;
pub mod operators;
pub mod permissions;
pub mod pins;
pub mod questions;
pub mod registrations;
pub(crate) mod server_additions;
pub mod server_orders;
pub mod servers;
pub mod status;
pub mod tools;

pub(crate) use self::gate::{ProofGate, answer, is_for_agents};

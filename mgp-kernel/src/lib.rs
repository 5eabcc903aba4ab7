//! MGP's kernel: one server between any MCP client and any number of MCP and MGP servers.
//!
//! It finds the right tool, asks before danger, records everything and keeps servers alive. [`Kernel`] is the whole of
//! it; the program `mgp` is its command line. The order of the layers stands in `stack.rs`.

mod asking;
mod changes;
#[cfg(unix)]
pub mod cli;
#[cfg(unix)]
pub mod demo;
mod erased;
mod error;
mod fleet;
mod http;
mod kernel;
mod meter;
mod methods;
mod operator;
mod parts;
mod registration;
mod reload;
mod resolve;
mod router;
mod serve;
mod settings;
mod stack;
mod upstream;

pub use self::error::StartError;
pub use self::fleet::Applied;
pub use self::kernel::Kernel;
pub use self::upstream::{MgpView, ServerView};

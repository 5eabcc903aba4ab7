//! Transports of MGP and MCP.

mod accept;
mod driver;
pub mod era;
mod limits;

pub use accept::Accept;
pub use driver::{Connection, Wire, connect};
pub use limits::ConnectionLimits;

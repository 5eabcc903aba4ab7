//! Transports of MGP and MCP.

mod accept;
mod limits;

pub use accept::Accept;
pub use limits::ConnectionLimits;

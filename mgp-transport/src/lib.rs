//! Transports of MGP and MCP.

mod accept;
mod driver;
pub mod era;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub mod http;
mod limits;
pub mod memory;
pub mod mrtr;
#[cfg(all(unix, feature = "stdio"))]
pub mod stdio;

pub use accept::Accept;
pub use driver::{Connection, Wire, connect};
pub use limits::ConnectionLimits;

//! Transports of MGP and MCP.

mod accept;
mod catch_panic;
mod driver;
pub mod era;
mod limits;
pub mod memory;
pub mod mrtr;
#[cfg(all(unix, feature = "stdio"))]
pub mod stdio;

pub use accept::Accept;
pub use catch_panic::{CatchPanic, CatchPanicFuture};
pub use driver::{Connection, Wire, connect};
pub use limits::ConnectionLimits;

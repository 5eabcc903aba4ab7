//! Two ends of a connection inside one process, for tests and for servers that live in their client.

use tokio::io::{DuplexStream, ReadHalf, WriteHalf};

/// One end of an in-memory connection.
pub type DuplexEnd = (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>);

/// Returns two connected ends; up to `buffer_bytes` wait in each direction.
///
/// They carry the same bytes as any other transport, so a connection in memory goes through the same layers as one to
/// another machine.
pub fn pair(buffer_bytes: usize) -> (DuplexEnd, DuplexEnd) {
    let (one, other) = tokio::io::duplex(buffer_bytes);
    (tokio::io::split(one), tokio::io::split(other))
}

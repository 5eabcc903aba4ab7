//! Messages about a call over a byte stream: the ids on the wire, the streams above it.

mod calling;
mod doubles;
mod relay;
mod serving;
mod slow;

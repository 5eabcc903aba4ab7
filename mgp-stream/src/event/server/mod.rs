//! The server's side: what is published, who gets it, and how it travels.

mod audience;
mod board;
mod buffer;
mod feed;
mod gate;
mod listen;
mod publisher;
mod pump;
mod quotas;
mod registry;
#[cfg(test)]
mod tests;

pub use self::audience::Audience;
pub use self::gate::{EventsGate, ListeningRequest};
pub use self::publisher::{PublishError, Publisher};
pub use self::quotas::EventQuotas;

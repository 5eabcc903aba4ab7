//! The server's side of events: publishing, subscriptions, and the ways to the clients.

mod board;
mod buffer;
mod feed;
mod gate;
mod listen;
mod publisher;
mod quotas;
mod registry;
#[cfg(test)]
mod tests;

pub use self::gate::{Audience, EventsGate, ListeningRequest};
pub use self::publisher::{PublishError, Publisher};
pub use self::quotas::EventQuotas;

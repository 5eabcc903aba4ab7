//! The server's side of events: publishing, subscriptions, and the ways to the clients.

mod feed;
mod gate;
mod publisher;
mod registry;
mod terms;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(super) use self::feed::{Bounds, EventQuotas};
pub use self::gate::EventsGate;
pub use self::publisher::{PublishError, Publisher};

//! The server's side of events: publishing, subscriptions, and the ways to the clients.

mod buffer;
mod feed;
mod gate;
mod listen;
mod publisher;
mod quotas;
mod registry;
#[cfg(feature = "ext")]
mod terms;
#[cfg(not(feature = "ext"))]
#[path = "no_terms.rs"]
mod terms;
#[cfg(test)]
mod tests;

pub use self::gate::{EventAudience, EventsGate};
pub use self::listen::ListeningRequest;
pub use self::publisher::{PublishError, Publisher};
#[cfg(test)]
pub(super) use self::{buffer::Bounds, quotas::EventQuotas};

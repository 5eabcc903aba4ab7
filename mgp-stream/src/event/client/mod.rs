//! The client's side: events of any number of subscriptions come in as they arrive, and go out in order.

mod assembly;
mod events;
mod subscriber;
#[cfg(test)]
mod tests;

pub use self::assembly::{EventAssembly, EventItem, EventReplayRequest};
pub use self::events::Events;
pub use self::subscriber::Subscriber;

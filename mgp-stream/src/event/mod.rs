//! Events (MGP §13.2, §13.3, §13.5).
mod server;
pub use self::server::{EventQuotas, EventsLayer, PublishError, Publisher, ServeEvents, ServeEventsFuture};

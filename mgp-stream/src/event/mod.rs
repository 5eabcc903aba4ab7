//! Events (MGP §13.2, §13.3, §13.5): a server publishes what happens, clients subscribe to the channels they want.
//!
//! The specification pushes events and forgets them. Here each event of a subscription has a number, as in later
//! drafts, and the last events are kept: events that a connection lost are sent again, and events that cannot be sent
//! again are reported, never passed over.
//!
//! | | |
//! |---|---|
//! | [`Publisher`] | publishes events of a server |
//! | [`EventsGate`] | serves subscriptions to a publisher |
//! | [`Subscriber`] | subscribes at the client, and takes arriving events |
//! | [`Events`] | the events of one subscription, as a stream |
//! | [`EventAssembly`] | the same without IO |

mod client;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod schedule;
mod server;

pub use self::client::{EventAssembly, EventItem, EventReplayRequest, Events, Subscriber};
pub use self::server::{EventsGate, PublishError, Publisher};

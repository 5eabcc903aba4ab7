//! The ids of servers, agents, tools and subscriptions.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::macros::text_traits;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident $(: $($trait:ident),+)?;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Creates the id with this name.
            pub fn new(name: impl Into<Arc<str>>) -> Self {
                Self(name.into())
            }

            /// Returns the name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        crate::convert!(&str => $name, name => Self(name.into()));

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        text_traits!($name: $($($trait,)+)? Serialize, Deserialize(Self::from));
    )+ };
}

names! {
    /// The id of a server, as its configuration names it.
    ServerId: Display, Debug;
    /// The id of an agent: the name of the [`Principal`](crate::Principal) that the agent has proved to be.
    AgentId: Display, Debug;
    /// The name of a tool, as its server names it.
    ToolName: Display, Debug;
    /// The id of a subscription to events, which its server made up, or the client where the server lets it.
    ///
    /// A client without another proof of identity proves with an id of the server that the subscription is its own, so logs
    /// do not show it. An id that a client chose proves nothing.
    SubscriptionId;
}

// The id is a secret, and the text may reach logs.
crate::partial_debug!(SubscriptionId);

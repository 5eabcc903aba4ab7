//! The ids of servers, agents and tools.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::macros::text_traits;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)+) => { $(
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

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                Self(name.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        text_traits!($name: Display, Serialize, Deserialize(Self::from));
    )+ };
}

names! {
    /// The id of a server, as its configuration names it.
    ServerId;
    /// The id of an agent: the name of the [`Principal`](crate::Principal) that the agent has proved to be.
    AgentId;
    /// The name of a tool, as its server names it.
    ToolName;
}

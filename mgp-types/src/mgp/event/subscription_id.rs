//! The id of a subscription to events.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The id of a subscription to events, which its server made up.
///
/// A client without another proof of identity proves with the id that the subscription is its own, so logs do not show
/// it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(Arc<str>);

impl SubscriptionId {
    /// Creates the id with this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SubscriptionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SubscriptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SubscriptionId(***)")
    }
}

impl Serialize for SubscriptionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SubscriptionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'_, str>::deserialize(deserializer).map(|name| Self(name.into()))
    }
}

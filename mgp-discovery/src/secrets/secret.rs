//! A value that may be a secret.

use std::fmt;

/// A value in which references have been resolved. The value may be a secret, so that only [`expose`](Self::expose)
/// shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self(value.into())
    }
}

impl Secret {
    /// Returns the value.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

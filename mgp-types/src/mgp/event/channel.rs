//! The names of channels, and the patterns by which clients ask for them.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::macros::text_traits;

/// A channel that events are published on: words with dots between, like `model.token_usage` (§13.5).
///
/// The families `model`, `system`, `tool` and `security` of the specification are a convention and no rule: other
/// programs have channels outside of them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelName(Arc<str>);

/// The wish of a client: one channel by its name, `model.*` for all below `model`, or `*` for all.
///
/// ```
/// use mgp_types::mgp::ChannelPattern;
///
/// let pattern = ChannelPattern::try_from("model.*")?;
/// assert!(pattern.matches("model.token_usage") && pattern.matches("model.rate.limit"));
/// assert!(!pattern.matches("model") && !pattern.matches("models.x"));
/// assert!(ChannelPattern::try_from("model.*.x").is_err());
/// # Ok::<(), mgp_types::mgp::ChannelError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ChannelPattern(Arc<str>);

const MAX_BYTES: usize = 128;

/// A text that names no channel, nor channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The text is longer than names of channels may be.
    #[error("the name of a channel has at most {MAX_BYTES} bytes")]
    TooLong,
    /// The text is not made of words with dots between.
    #[error("the name of a channel is words of letters, digits, `_`, `-` and `:` with dots between")]
    Malformed,
}

impl ChannelName {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for ChannelName {
    type Error = ChannelError;

    fn try_from(name: &str) -> Result<Self, ChannelError> {
        check(name, false).map(|()| Self(name.into()))
    }
}

impl Borrow<str> for ChannelName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

text_traits!(ChannelName: Display, Debug);

impl ChannelPattern {
    /// The families of channels that the specification names (§13.5).
    pub const STANDARD: [&'static str; 4] = ["model.*", "system.*", "tool.*", "security.*"];

    /// Returns whether the pattern stands for the channel.
    pub fn matches(&self, channel: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(prefix) => channel.len() > prefix.len() && channel.starts_with(prefix),
            None => channel == &*self.0,
        }
    }

    /// Returns whether the pattern stands for channels of one of the families of the specification (§13.5).
    pub fn is_of_standard_family(&self) -> bool {
        let family = self.0.split('.').next();
        Self::STANDARD.iter().any(|standard| standard.split('.').next() == family)
    }

    /// Returns the pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for ChannelPattern {
    type Error = ChannelError;

    fn try_from(pattern: &str) -> Result<Self, ChannelError> {
        check(pattern, true).map(|()| Self(pattern.into()))
    }
}

text_traits!(ChannelPattern: Display, Debug);

/// Checks a text. A star stands for all that may follow, so only the last word can be one.
fn check(text: &str, may_end_in_star: bool) -> Result<(), ChannelError> {
    if text.len() > MAX_BYTES {
        return Err(ChannelError::TooLong);
    }
    let words = match text.strip_suffix('*') {
        Some("") if may_end_in_star => return Ok(()),
        Some(before) if may_end_in_star => before.strip_suffix('.').ok_or(ChannelError::Malformed)?,
        _ => text,
    };
    let sane = |word: &str| !word.is_empty() && word.bytes().all(is_of_a_word);
    if words.split('.').all(sane) { Ok(()) } else { Err(ChannelError::Malformed) }
}

const fn is_of_a_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':')
}

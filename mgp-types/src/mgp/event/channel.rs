//! The names of channels, and the patterns by which clients ask for them.

use std::borrow::Borrow;

use crate::macros::checked_texts;

checked_texts! {
    /// A channel that events are published on: words with dots between, like `model.token_usage` (§13.5).
    ///
    /// The families `model`, `system`, `tool` and `security` of the specification are a convention and no rule: other
    /// programs have channels outside of them.
    ChannelName by check_name => ChannelError;

    /// The wish of a client: one channel by its name, `model.*` for all below `model`, or `*` for all.
    ///
    /// ```
    /// use mgp_types::mgp::ChannelPattern;
    ///
    /// let pattern: ChannelPattern = "model.*".parse()?;
    /// assert!(pattern.matches("model.token_usage") && pattern.matches("model.rate.limit"));
    /// assert!(!pattern.matches("model") && !pattern.matches("models.x"));
    /// assert!("model.*.x".parse::<ChannelPattern>().is_err());
    /// # Ok::<(), mgp_types::mgp::ChannelError>(())
    /// ```
    ChannelPattern by check_pattern => ChannelError;
}

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

impl Borrow<str> for ChannelName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

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
}

fn check_name(text: &str) -> Result<(), ChannelError> {
    if text.len() > MAX_BYTES {
        return Err(ChannelError::TooLong);
    }
    let sane = |word: &str| !word.is_empty() && word.bytes().all(is_of_a_word);
    if text.split('.').all(sane) { Ok(()) } else { Err(ChannelError::Malformed) }
}

/// Checks a pattern. A star stands for all that may follow, so only the last word can be one.
fn check_pattern(text: &str) -> Result<(), ChannelError> {
    match text.strip_suffix('*') {
        Some("") => Ok(()),
        Some(_) if text.len() > MAX_BYTES => Err(ChannelError::TooLong),
        Some(before) => check_name(before.strip_suffix('.').ok_or(ChannelError::Malformed)?),
        None => check_name(text),
    }
}

const fn is_of_a_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':')
}

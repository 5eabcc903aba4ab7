use std::fmt;
use std::sync::Arc;

/// Counts the tokens of a text as some model would.
pub trait CountTokens: fmt::Debug + Send + Sync {
    /// How many tokens the text has. Takes a time that grows no faster than the text, whatever is in it.
    fn count(&self, text: &str) -> u32;

    /// What counts, for reports.
    fn name(&self) -> &str;
}

/// The tokenizer of the feature `tiktoken` where it is built in, else the estimate.
pub fn default_counter() -> Arc<dyn CountTokens> {
    #[cfg(feature = "tiktoken")]
    return Arc::new(super::Tiktoken::new());
    #[cfg(not(feature = "tiktoken"))]
    return Arc::new(super::Estimate::new());
}

//! Texts of strangers as they are shown.

use mgp_types::{is_hidden, shell_word};

use crate::config::model::ServerConfig;

/// The text with what cannot be seen, or makes other text look different, as escapes.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Returns the command of a server as one would type it, whole.
pub fn command_line(config: &ServerConfig) -> String {
    let words = config.command.iter().chain(&config.args).map(|word| shell_word(word));
    words.collect::<Vec<_>>().join(" ")
}

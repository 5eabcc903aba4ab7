//! Texts of strangers as they are shown.

use crate::config::model::ServerConfig;

/// The text with what cannot be seen, or makes other text look different, as escapes.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_seen(c) { out.push(c) } else { out.extend(c.escape_unicode()) }
    }
    out
}

/// The command as one would type it, whole.
pub(super) fn command(config: &ServerConfig) -> String {
    let words = config.command.iter().chain(&config.args).map(|word| quoted(word));
    words.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@%+=:,./_-".contains(&byte));
    if plain { word.to_owned() } else { format!("'{}'", visible(word).replace('\'', r"'\''")) }
}

fn is_seen(c: char) -> bool {
    let hidden = c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}')
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}')
        || matches!(c, '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    !hidden
}

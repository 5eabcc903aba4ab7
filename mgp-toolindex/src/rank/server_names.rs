//! Servers that a request names: "rows of our Notion table" means the tools of the server `notion`.

/// Words in the names of servers that name none.
const GENERIC: [&str; 16] = [
    "mcp", "mgp", "server", "servers", "service", "api", "tool", "tools", "client", "integration", "for",
    "of", "the", "a", "and", "by",
];

/// Returns whether each word of a server's name that is not generic is among the spoken ones.
pub(super) fn is_named(server: &str, spoken: &[&str]) -> bool {
    let mut telling = words(server).filter(|word| !is_among(&GENERIC, word)).peekable();
    telling.peek().is_some() && telling.all(|word| is_among(spoken, word))
}

/// Returns the words of a text, in which the names of servers are looked for.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_among(words: &[&str], word: &str) -> bool {
    words.iter().any(|other| other.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_all_that_tells_it_from_others() {
        let named = |text, server| is_named(server, &words(text).collect::<Vec<_>>());
        assert!(named("rows of our Notion table", "notion"));
        assert!(named("pages in yahoo finance", "MCP Yahoo Finance"));
        assert!(!named("pages in yahoo", "MCP Yahoo Finance"));
        assert!(!named("notions", "notion"));
        assert!(named("東京 の 天気", "天気"));
    }

    #[test]
    fn generic_words_name_no_server() {
        for server in ["mcp-server", "the API", "", "--"] {
            assert!(!is_named(server, &["the", "mcp", "server", "api"]), "{server}");
        }
    }
}

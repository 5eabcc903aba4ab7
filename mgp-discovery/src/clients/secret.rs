//! Recognition of secrets, by their name or by their form.

use std::ops::Range;

use mgp_types::secret::{is_secret_setting, secrets};

/// Returns the parts of a value that look like secrets. `name` is the name of the value, if it has one.
///
/// References to the environment are no secrets; the default behind `:-` in one may be.
pub(crate) fn find(name: &str, value: &str) -> Vec<Range<usize>> {
    let value_start = value.len() - value.trim_start().len();
    let trimmed = value.trim();
    if trimmed.is_empty() || is_reference(trimmed) {
        return Vec::new();
    }
    let found = in_url(value);
    if !found.is_empty() {
        return found;
    }
    if is_secret_setting(name) && !is_harmless(trimmed) {
        let (start, end) = (value_start + scheme_len(trimmed), value.trim_end().len());
        let is_plain = start < end && !is_reference(&value[start..end]);
        return is_plain.then_some(start..end).into_iter().collect();
    }
    // A secret may stand behind a name within the value: `--token=…`, `Authorization: Bearer …`, `API_KEY=…`.
    if let Some(at) = value.find(['=', ':']) {
        let (inner_name, inner) = (&value[..at], &value[at + 1..]);
        let plain = !inner_name.trim().contains(|c: char| c.is_whitespace() || c == '$');
        if plain && is_secret_setting(inner_name) && !inner.starts_with("//") {
            let found = find(inner_name, inner).into_iter();
            return found.map(|part| part.start + at + 1..part.end + at + 1).collect();
        }
    }
    words(value).filter(|word| has_secret(&value[word.clone()])).collect()
}

/// Returns whether a word looks like a secret by its form alone.
fn has_secret(word: &str) -> bool {
    let is_digest = || word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_digest() && word.bytes().any(|byte| byte.is_ascii_digit())) || !secrets(word).is_empty()
}

/// Returns the words of a text that could be secrets by their form.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    text.split(|c: char| c.is_whitespace() || "\"'`=,;:&?<>(){}[]|$@#".contains(c)).filter_map(move |word| {
        // Each separator is one character, so that the next word starts behind it.
        let start = at;
        let end = start + word.len();
        at = end + text[end..].chars().next().map_or(0, char::len_utf8);
        let start = end - word.trim_start_matches('-').len();
        (start < end).then_some(start..end)
    })
}

/// Returns the length of a scheme such as `Bearer `, which stays readable.
fn scheme_len(value: &str) -> usize {
    let lower = value.to_ascii_lowercase();
    let mut schemes = ["bearer ", "basic ", "token ", "apikey ", "bot "].into_iter();
    let scheme = schemes.find(|scheme| lower.starts_with(*scheme));
    scheme.map_or(0, |scheme| value.len() - value[scheme.len()..].trim_start().len())
}

/// Returns the passwords and secret parameters in a URL.
fn in_url(value: &str) -> Vec<Range<usize>> {
    let Some(scheme_end) = value.find("://").map(|at| at + 3) else { return Vec::new() };
    let mut found = Vec::new();
    let rest = &value[scheme_end..];
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    if let Some(user_info) = authority.rfind('@').map(|at| &authority[..at])
        && let Some(colon) = user_info.find(':')
        && !user_info[colon + 1..].is_empty()
        && !is_reference(&user_info[colon + 1..])
    {
        found.push(scheme_end + colon + 1..scheme_end + user_info.len());
    }
    let Some(query_start) = value.find('?').map(|at| at + 1) else { return found };
    let mut at = query_start;
    for pair in value[query_start..].split(['&', '#']) {
        if let Some((name, part)) = pair.split_once('=')
            && !part.is_empty()
            && !is_reference(part)
            && ((is_secret_setting(name) && !is_harmless(part)) || has_secret(part))
        {
            let start = at + name.len() + 1;
            found.push(start..start + part.len());
        }
        at += pair.len() + 1;
    }
    found
}

/// Returns whether the text consists of references only, none of which has a default.
fn is_reference(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')) else { return false };
    !inner.contains('}') && !inner.split_once(":-").is_some_and(|(_, value)| has_secret(value))
}

/// Returns whether a value is certainly no secret, so that a wrong guess by name does not hide a plain setting.
fn is_harmless(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let word =
        matches!(lower.as_str(), "true" | "false" | "yes" | "no" | "on" | "off" | "none" | "null" | "auto");
    let path = ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start))
        || value.as_bytes().get(1..3).is_some_and(|drive| drive == b":\\" || drive == b":/");
    word || (path && !has_secret(value))
}

/// Returns the text with values that look like secrets as `***`. `name` is the name of the value, if it has one.
pub fn without_secrets(name: &str, text: &str) -> String {
    starred(text, find(name, text))
}

/// Returns the text with these parts as `***`.
fn starred(text: &str, parts: Vec<Range<usize>>) -> String {
    let mut shown = text.to_owned();
    for part in parts.into_iter().rev() {
        shown.replace_range(part, "***");
    }
    shown
}

/// Returns the name of each argument: `--token VALUE` names the value in the argument before it.
pub(crate) fn value_names(args: &[String]) -> impl Iterator<Item = &str> {
    let before = std::iter::once("").chain(args.iter().map(String::as_str));
    before.zip(args).map(|(before, argument)| {
        let names = before.starts_with('-') && !before.contains('=') && !argument.starts_with('-');
        if names { before } else { "" }
    })
}

/// Returns the arguments of a program with values that look like secrets as `***`; `--token VALUE` is recognised by the
/// name before it.
pub fn args_without_secrets(args: &[String]) -> Vec<String> {
    value_names(args).zip(args).map(|(name, argument)| without_secrets(name, argument)).collect()
}

/// Returns a line of a text that nobody knows the form of, such as a log, with values that look like secrets as `***`.
pub fn line_without_secrets(line: &str) -> String {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut named = false;
    for word in words(line) {
        let text = &line[word.clone()];
        let between_start =
            parts.last().map_or(0, |part: &Range<usize>| part.end).max(word.start.saturating_sub(4));
        let assigned =
            line.get(between_start..word.start).is_some_and(|between| between.contains([':', '=']));
        if has_secret(text) || (named && assigned && !find("secret", text).is_empty()) {
            parts.push(word.clone());
        }
        named = is_secret_setting(text);
    }
    starred(line, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(name: &str, value: &str) -> String {
        let mut out = value.to_owned();
        for part in find(name, value).into_iter().rev() {
            out.replace_range(part, "*");
        }
        out
    }

    #[test]
    fn secrets_are_found_by_name_and_by_form() {
        for (name, value, expected) in [
            ("GITHUB_TOKEN", "abc", "*"),
            ("apiKey", "x1", "*"),
            ("Authorization", "Bearer abc", "Bearer *"),
            ("X-Api-Key", "abc", "*"),
            ("", "--token=abc", "--token=*"),
            ("--header", "Authorization: Bearer abc", "Authorization: Bearer *"),
            ("", "ghp_0123456789abcdef", "*"),
            ("DB", "postgres://u:pw@h/d", "postgres://u:*@h/d"),
            ("url", "https://h/mcp?api_key=abc&x=1", "https://h/mcp?api_key=*&x=1"),
            ("FOO", "${X:-ghp_0123456789abcdef}", "${X:-*}"),
            ("", "${MY_TOKEN:-ghp_0123456789abcdef}", "${MY_TOKEN:-*}"),
            ("ID", "9f86d081884c7d659a2feaa0c55ad015", "*"),
            ("PGPASSWORD", "p", "*"),
        ] {
            assert_eq!(masked(name, value), expected, "{name} {value}");
        }
    }

    #[test]
    fn plain_settings_are_left_alone() {
        for (name, value) in [
            ("MAX_TOKENS", "4096"),
            ("GITHUB_TOKEN", "${GITHUB_TOKEN}"),
            ("Authorization", "Bearer ${T}"),
            ("AUTH_TYPE", "oauth"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/keys/key.json"),
            ("", "@modelcontextprotocol/server-filesystem@2025.11.18"),
            ("", "--port=8080"),
            ("", "https://example.com/mcp"),
            ("PATH", "/usr/local/bin:/usr/bin"),
            ("KEY_FILE", "k.pem"),
            ("monkey", "banana"),
            ("TOKEN", ""),
        ] {
            assert_eq!(masked(name, value), value, "{name}");
        }
    }

    #[test]
    fn arguments_are_shown_without_their_secrets() {
        let args =
            ["--api-key", "abc", "--token=def", "https://h/?token=ghi", "--port", "80"].map(str::to_owned);
        let shown = ["--api-key", "***", "--token=***", "https://h/?token=***", "--port", "80"];
        assert_eq!(args_without_secrets(&args), shown);
    }
}

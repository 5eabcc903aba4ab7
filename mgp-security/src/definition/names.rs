//! The names of tools: which names are allowed.

use std::borrow::Cow;

use mgp_types::MethodRule;
use unicode_normalization::UnicodeNormalization;

use super::fold::{look_alike, strip_invisible};
use crate::Finding;
use crate::visible::visible;

/// Checks that a tool may be called `tool`: two servers may use the same name, because models call each tool by the name of
/// its server and its own.
///
/// # Errors
/// Fails if the name is not valid in MCP, is reserved for the kernel (MGP §1.6), or could stand for a tool of another
/// server.
pub(super) fn check_spelling(tool: &str) -> Result<(), Finding> {
    let is_odd = |it: &char| !it.is_ascii_alphanumeric() && !"_-.".contains(*it);
    let (rule, why) = if is_reserved(tool) {
        ("reserved-name", "is reserved for the kernel or the protocol; rename the tool".to_owned())
    } else if let Some(odd) = tool.chars().find(is_odd) {
        let odd = visible(&odd.to_string());
        let why =
            format!("contains \"{odd}\"; only ASCII letters, digits, \"_\", \"-\" and \".\" may be in one");
        ("malformed-name", why)
    } else if tool.len() > MAX_LENGTH || !tool.contains(|it: char| it.is_ascii_alphanumeric()) {
        ("malformed-name", format!("is empty or longer than {MAX_LENGTH} characters"))
    } else if tool.trim_matches('_').contains(SERVER_SEPARATOR) {
        let why = format!(
            "contains \"{SERVER_SEPARATOR}\", with which clients set the name of a server before that of a tool: it \
             could stand for a tool of another server"
        );
        ("shadowed-name", why)
    } else {
        return Ok(());
    };
    let shown: String = tool.chars().take(MAX_LENGTH).collect();
    Err(Finding::new(rule, format!("the tool name \"{}\" {why}", visible(&shown))))
}

/// Returns whether the name is in the namespace of the kernel, however it is spelled, or is a method of the protocol.
fn is_reserved(tool: &str) -> bool {
    let folded = folded(tool);
    let first_word = folded.split(['.', '/', '_', '-', ':', ' ']).find(|word| !word.is_empty()).unwrap_or("");
    let joined = skeleton(&folded);
    look_alikes_undone(first_word) == "mgp"
        || MethodRule::all().any(|rule| rule.method.starts_with("mgp/") && skeleton(rule.method) == joined)
        || PROTOCOL_METHODS.contains(&folded.as_ref())
        || PROTOCOL_SPACES.iter().any(|space| folded.starts_with(space))
}

/// Returns the name in lower case and Latin letters, without invisible characters.
fn folded(name: &str) -> String {
    strip_invisible(name).nfkc().flat_map(char::to_lowercase).map(look_alike).collect()
}

/// Returns the name without separators, case, and the difference between characters that look alike.
pub(crate) fn skeleton(name: &str) -> String {
    let joined: String = folded(name).chars().filter(|it| it.is_alphanumeric()).collect();
    look_alikes_undone(&joined).into_owned()
}

/// Returns the text with one character for each group of ASCII characters that look alike.
fn look_alikes_undone(text: &str) -> Cow<'_, str> {
    if !text.contains(['0', '1', 'i', 'n', 'v']) {
        return Cow::Borrowed(text);
    }
    let single = text.replace('0', "o").replace(['1', 'i'], "l");
    Cow::Owned(single.replace("rn", "m").replace("vv", "w"))
}

/// The largest length of a name in MCP 2025-11-25.
const MAX_LENGTH: usize = 128;

const SERVER_SEPARATOR: &str = "__";

/// The methods of the protocol that look like names of tools. `ping` is one, too, but is left out because it suits a
/// tool well.
const PROTOCOL_METHODS: &[&str] = &["initialize", "initialized"];

/// The namespaces of the protocol's methods, which no name of a tool may be spelled like.
const PROTOCOL_SPACES: &[&str] = &[
    "tools/", "resources/", "prompts/", "notifications/", "sampling/", "roots/", "logging/", "completion/",
    "elicitation/", "tasks/", "server/", "subscriptions/", "rpc.",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(tool: &str) -> Option<&'static str> {
        check_spelling(tool).err().map(|finding| finding.rule)
    }

    #[test]
    fn names_of_mcp_pass() {
        let longest = "a".repeat(128);
        for name in [
            "read_file", "API-get-user", "repo.list", "_private", "x", "getURL2", "ping", "mgprint", &longest,
        ] {
            assert_eq!(rule(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_no_name_of_mcp_is_refused() {
        let long = "a".repeat(129);
        for name in
            ["", "read file", "../read", "read\nsystem", "\u{202e}elif_daer", "rеad", "a/b", "....", &long]
        {
            assert_eq!(rule(name), Some("malformed-name"), "{name}");
        }
    }

    #[test]
    fn the_names_of_the_kernel_and_the_protocol_are_reserved() {
        for name in [
            "mgp.access.grant", "mgp/access/grant", "mgp_audit_replay", "MGP-anything", "mgp",
            "mgpAccessGrant", "mɡp.access.grant", "mg\u{200b}p.x", "ｍｇｐ.x", "мgр.x", "_mgp.x",
            "initialize", "tools/call", "notifications/cancelled",
        ] {
            assert_eq!(rule(name), Some("reserved-name"), "{name}");
        }
    }

    #[test]
    fn a_name_that_could_be_one_of_another_server_is_refused() {
        assert_eq!(rule("files__list_files10"), Some("shadowed-name"));
    }
}

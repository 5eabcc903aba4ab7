//! The comparison of a definition with its approved form, where the two may differ by the order of lists or by figures.
//!
//! Some servers write a set into a description, in another order at each start. The order of words can turn an order
//! into its opposite, so only what cannot make a sentence may move: three or more single words between commas, of a list
//! that begins behind a colon, a bracket or at the start of a line and ends at a bracket or the end of a line or
//! sentence, and the lists of a schema that are sets. Everything else stays where it is, and no word comes or goes.
//! Figures may be amounts, ports or accounts, so a person has to allow that they change.

use mgp_types::canonical::CanonicalTree;

use super::Definition;

/// Returns whether two forms of a definition differ only in the order of lists, and in figures if those count as none.
pub(super) fn are_alike(one: &Definition, other: &Definition, ignores_figures: bool) -> bool {
    let plain = |definition: &Definition| {
        let mut tree = CanonicalTree::read(definition.canonical()).ok()?;
        settle(&mut tree, "", ignores_figures);
        Some(tree)
    };
    one == other || plain(one).is_some_and(|one| plain(other) == Some(one))
}

/// Sorts the lists in a tree that stands under `member`, and blanks its figures if these are to be ignored.
fn settle(tree: &mut CanonicalTree, member: &str, ignores_figures: bool) {
    match tree {
        CanonicalTree::Text(_) if VALUES.contains(&member) => {}
        CanonicalTree::Text(text) => {
            *text = sorted(text);
            if ignores_figures {
                *text = without_figures(text);
            }
        }
        CanonicalTree::Array(items) => {
            let are_texts = items.iter().all(|item| matches!(item, CanonicalTree::Text(_)));
            if SETS.contains(&member) && are_texts {
                items.sort_by_key(CanonicalTree::to_bytes);
            } else {
                for item in items {
                    settle(item, member, ignores_figures);
                }
            }
        }
        CanonicalTree::Object(members) => {
            for (name, value) in members {
                settle(value, name, ignores_figures);
            }
        }
        CanonicalTree::Null | CanonicalTree::Bool(_) | CanonicalTree::Number(_) => {}
    }
}

/// Returns the text with each list of single words in order.
fn sorted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let is_start = out.trim_end_matches([' ', '\'', '"', '`']).ends_with([':', '(', '[', '{', '\n'])
            || out.trim_end_matches(' ').is_empty();
        if let Some((mut items, end)) = list(rest).filter(|_| is_start) {
            items.sort_unstable();
            out.push_str(&items.join(", "));
            rest = &rest[end..];
            continue;
        }
        let step = rest.chars().next().map_or(1, char::len_utf8);
        out.push_str(&rest[..step]);
        rest = &rest[step..];
    }
    out
}

/// Returns the words of the list that `text` begins with, and its length.
fn list(text: &str) -> Option<(Vec<&str>, usize)> {
    let mut items = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let length = rest.find(|c: char| c.is_whitespace() || ",()[]{};:".contains(c)).unwrap_or(rest.len());
        // The point behind the last word belongs to the sentence.
        let item = rest[..length].trim_end_matches('.');
        if item.is_empty() || item.len() > LONGEST_WORD {
            return None;
        }
        items.push(item);
        at += item.len();
        let next = text[at..].strip_prefix(", ").or_else(|| text[at..].strip_prefix(','));
        let Some(next) = next else { break };
        at = text.len() - next.len();
    }
    let behind = &text[at..];
    let ends = behind.trim_start_matches(' ').is_empty()
        || behind.starts_with(['\n', '\r', ')', ']', '}', ';'])
        || behind == "."
        || [". ", ".\n", ".)"].iter().any(|end| behind.starts_with(end));
    (ends && items.len() >= FEWEST_WORDS).then_some((items, at))
}

/// Returns the text with `0` for each number that stands in no address.
fn without_figures(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        if word.contains("//") || word.contains('@') {
            out.push_str(word);
            continue;
        }
        for character in word.chars() {
            let is_figure = character.is_ascii_digit();
            if !(is_figure && out.ends_with('0')) {
                out.push(if is_figure { '0' } else { character });
            }
        }
    }
    out
}

/// The members of a schema whose lists are sets.
const SETS: &[&str] = &["enum", "required", "type"];
/// The members whose texts are values or names rather than prose.
const VALUES: &[&str] =
    &["name", "uri", "uriTemplate", "default", "const", "pattern", "format", "$ref", "$id", "src"];

/// The smallest list whose order says nothing. Two words may be a direction: `(source, target)`.
const FEWEST_WORDS: usize = 3;
/// The largest length of a word of a list, in bytes.
const LONGEST_WORD: usize = 64;

#[cfg(test)]
mod tests {
    use mgp_types::Object;

    use super::*;
    use crate::definition::DefinitionKind;

    fn alike(one: &str, other: &str, ignores_figures: bool) -> bool {
        let read = |description: &str| {
            let mut tool = Object::parse(r#"{"name":"t","inputSchema":{"type":"object"}}"#).unwrap();
            tool.set("description", mgp_types::RawJson::from_text(description));
            Definition::read(DefinitionKind::Tool, &tool).unwrap()
        };
        are_alike(&read(one), &read(other), ignores_figures)
    }

    #[test]
    fn a_list_of_single_words_may_come_in_any_order() {
        for (one, other) in [
            (
                "Runs a command.\n\nAvailable commands: wc, cat, ls",
                "Runs a command.\n\nAvailable commands: ls, wc, cat",
            ),
            ("Takes (-l, -a, --help).", "Takes (--help, -l, -a)."),
            ("One of {'b', 'a', 'c'}", "One of {'c', 'a', 'b'}"),
            ("Kinds: b, a, c. Be kind.", "Kinds: a, b, c. Be kind."),
            ("a,b,c", "c,b,a"),
        ] {
            assert!(alike(one, other, false), "{one} | {other}");
        }
    }

    #[test]
    fn nothing_moves_that_could_mean_something_else_in_another_place() {
        for (one, other) in [
            ("Do not delete, do copy, do move", "Do delete, do not copy, do move"),
            ("Never delete, copy, move", "Never copy, move, delete"),
            ("Copies (source, target).", "Copies (target, source)."),
            ("Use: a, b, c. Avoid: d, e, f.", "Use: d, e, f. Avoid: a, b, c."),
            ("Kinds: a, b, c", "Kinds: a, b, c, d"),
            ("Kinds: a, b, c", "Kinds: a, b, b"),
            ("Kinds: a, b, c and ask first", "Kinds: c, b, a and ask first"),
            ("Waits 5 seconds", "Waits 6 seconds"),
        ] {
            assert!(!alike(one, other, false), "{one} | {other}");
        }
    }

    #[test]
    fn figures_may_change_where_that_is_allowed_and_never_in_addresses() {
        assert!(alike("It is 2026-11-24 09:05, 7 files", "It is 2026-12-01 23:10, 12 files", true));
        assert!(!alike("Sends to https://h/1", "Sends to https://h/2", true));
        assert!(!alike("Sends to a1@b", "Sends to a2@b", true));
        assert!(!alike("It is 5", "It is five", true));
    }

    #[test]
    fn sets_of_a_schema_have_no_order_and_other_lists_have_one() {
        let read = |schema: &str| {
            let tool = format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
            Definition::read(DefinitionKind::Tool, &Object::parse(tool).unwrap()).unwrap()
        };
        let alike = |one: &str, other: &str| are_alike(&read(one), &read(other), true);
        assert!(alike(
            r#"{"enum":["b","a"],"required":["x","y"]}"#,
            r#"{"required":["y","x"],"enum":["a","b"]}"#
        ));
        for (one, other) in [
            (r#"{"examples":["b","a"]}"#, r#"{"examples":["a","b"]}"#),
            (r#"{"enum":["b","a"]}"#, r#"{"enum":["b","c"]}"#),
            (r#"{"default":"1"}"#, r#"{"default":"2"}"#),
            (r#"{"maximum":1}"#, r#"{"maximum":2}"#),
        ] {
            assert!(!alike(one, other), "{one} | {other}");
        }
    }
}

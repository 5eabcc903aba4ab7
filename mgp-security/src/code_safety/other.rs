//! Rules for languages without a grammar here: names outside of comments and strings, in the forms that most languages
//! share.

use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::{self, Readonly, Standard, Strict};
use regex::Regex;

use super::finding::Findings;
use super::names::Lists;
use super::pattern::{Pattern, Token, blanked, find_declared, tokens_of};
use super::policy::CodePolicy;
use crate::data_file::expression;

/// Records the violations of `policy` in the code, as far as they can be found without knowing the language.
pub(super) fn check(code: &str, policy: &CodePolicy, findings: &mut Findings) {
    let (bare, with_texts) = strip(code);
    let tokens: Vec<Token<'_>> = tokens_of(&bare, 0).collect();
    for (level, pattern) in &*PATTERNS {
        if let Some(at) = pattern.find(&tokens, "") {
            findings.pattern(*level, &pattern.text, at);
        }
    }
    find_declared(&policy.patterns, &tokens, &with_texts, findings);
    for found in IMPORT.captures_iter(&with_texts) {
        let Some(module) = found.get(1) else { continue };
        let name = module.as_str().trim_end_matches(['.', ':', '/']).replace("::", ".");
        if policy.refuses_import(&name) || LISTS.has("blocked-modules", &name) {
            findings.import(&name, module.start());
        }
    }
}

/// Returns the code with comments blanked out, once without and once with its strings, byte for byte.
///
/// A comment in one language may be code in another, so only the forms that no two languages disagree about count: `#`
/// and `--` at the start of a line, `//` and `/* */` anywhere.
fn strip(code: &str) -> (String, String) {
    let (mut comments, mut texts) = (Vec::new(), Vec::new());
    let mut at = 0;
    let mut at_line_start = true;
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        let (length, is_text) = match first {
            '#' if at_line_start && !IMPORT_SIGNS.iter().any(|sign| rest.starts_with(sign)) => {
                (line(rest), false)
            }
            '-' if at_line_start && rest.starts_with("--") => (line(rest), false),
            '/' if rest.starts_with("//") => (line(rest), false),
            '/' if rest.starts_with("/*") => (rest.find("*/").map_or(rest.len(), |end| end + 2), false),
            '"' | '\'' | '`' => (text(rest, first), true),
            _ => (0, false),
        };
        if length > 0 {
            let found = if is_text { &mut texts } else { &mut comments };
            found.push(at..at + length);
        }
        at += length.max(first.len_utf8());
        at_line_start = first == '\n' || (at_line_start && first.is_whitespace()) || (length > 0 && !is_text);
    }
    let with_texts = blanked(code, comments.into_iter());
    (blanked(&with_texts, texts.into_iter()), with_texts)
}

fn line(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// Returns the length of a string, or 0 if the quote does not begin one: an apostrophe has many uses in many languages.
fn text(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote == '\'' => return 0,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    0
}

/// The patterns of the lists, each with the level from which on it is refused.
static PATTERNS: LazyLock<Vec<(SafetyLevel, Pattern)>> = LazyLock::new(|| {
    [(Standard, "dangerous"), (Strict, "reflection"), (Readonly, "writes")]
        .into_iter()
        .flat_map(|(level, list)| LISTS.names(list).iter().map(move |text| (level, Pattern::new(text))))
        .collect()
});

/// The lists of `other.txt`, which explains each.
static LISTS: LazyLock<Lists> = LazyLock::new(|| Lists::read(include_str!("other.txt")));

/// The forms of imports: `import x`, `use x`, `require 'x'`, `#include <x>`, `using x`, at the start of a line or
/// statement.
static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r#"(?m)(?:^|[;{(=])\s*(?:#\s*include|import(?:\s+static)?|from|use|using|require(?:_once|_relative)?|include(?:_once)?|open|load)\s*[(<"'\s]\s*["'<]?([\w@./:\\-]+)"#,
    )
});
const IMPORT_SIGNS: [&str; 3] = ["#include", "# include", "#["];

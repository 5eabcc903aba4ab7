//! The entry points of code safety: checks of code by its language.

use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::{Readonly, Standard, Strict};
use mgp_types::mgp::{CodeRejection, SafetyLevel};
use regex::Regex;

use super::{
    CodePolicy, Findings, Grammar, Language, Lists, Pattern, Token, Tree, bash, blanked, find_declared,
    javascript, python, tokens_of, tree_tokens,
};
use crate::data_file::expression;

/// The method by which code was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// The code was not checked, because the level is unrestricted.
    Unchecked,
    /// The code was checked on its syntax tree.
    SyntaxTree,
    /// The code was searched for patterns outside of comments and strings, because the language has no grammar here.
    Patterns,
}

/// A module that code imports, as it is written in the code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Import {
    /// The import `import a.b`, or `from ..a import b`; the latter imports a module `b` or a name of the module `a`, so
    /// both are listed.
    Python {
        /// The number of leading dots.
        dots: usize,
        /// The path behind the dots; empty for the package itself.
        path: Box<str>,
    },
    /// The import `import "x"`, `export … from "x"`, `require("x")` or `import("x")`.
    JavaScript(Box<str>),
}

/// The result of a check that accepted code, with the modules that the code needs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scan {
    /// The method by which the code was checked, for a caller that reports how reliable the result is.
    pub method: Method,
    /// The imported modules, sorted and each once. From strict on the list is complete: an import whose module is not
    /// known before the code runs is a violation.
    pub imports: Vec<Import>,
}

/// Checks `code` against `policy`.
///
/// The check works on bytes in memory only, does not recurse with the depth of the code, and takes time in proportion
/// to its length.
///
/// # Errors
/// Fails if the code is refused; the rejection says what was found, where, and what would be accepted (§7.4).
pub fn scan(code: &str, policy: &CodePolicy) -> Result<Scan, CodeRejection> {
    if policy.level == SafetyLevel::Unrestricted {
        return Ok(Scan { method: Method::Unchecked, imports: Vec::new() });
    }
    let mut findings = Findings::new(policy.level);
    let method = check(code, policy, &mut findings);
    let violations = findings.violations();
    if violations.is_empty() {
        return Ok(Scan { method, imports: findings.imported.into_iter().collect() });
    }
    Err(CodeRejection::new(violations)
        .with_hints(policy.hints.clone())
        .with_locations(findings.locations(code)))
}

fn check(code: &str, policy: &CodePolicy, findings: &mut Findings) -> Method {
    let limit = policy.max_code_size_bytes().unwrap_or(MAX_READ_BYTES).min(MAX_READ_BYTES);
    if code.len() as u64 > limit {
        findings.whole(format!("Code too large: {} bytes, at most {limit} are accepted", code.len()));
        return Method::Patterns;
    }
    if let Some((at, _)) = code.char_indices().find(|(_, c)| is_deceptive(*c)) {
        findings.pattern(SafetyLevel::Standard, "invisible or reordering character", at);
    }
    if bracket_depth(code) > MAX_DEPTH {
        findings.whole(format!("Code nested too deeply: at most {MAX_DEPTH} brackets within one another"));
        return Method::Patterns;
    }
    let readings: &[CodeReading] = match &policy.language {
        Language::Python => python::READINGS,
        Language::JavaScript => javascript::JAVASCRIPT,
        Language::TypeScript => javascript::TYPESCRIPT,
        Language::Bash => {
            bash::check(code, policy, findings);
            return Method::SyntaxTree;
        }
        Language::Other(_) => {
            check_other(code, policy, findings);
            return Method::Patterns;
        }
    };
    let (mut whole, mut broken) = (None, None);
    for (grammar, prefix, suffix) in readings {
        let Some(tree) = Tree::parse(*grammar, prefix, code, suffix) else { continue };
        if !tree.has_errors {
            whole = Some(tree);
            break;
        }
        broken.get_or_insert(tree);
    }
    // A fragment may become a whole program once everything it leaves open is closed.
    let (grammar, prefix, _) = readings[0];
    let closed = || Tree::parse(grammar, prefix, code, &closing(code, &policy.language)?);
    let whole = whole.or_else(|| closed().filter(|tree| !tree.has_errors));
    // An interpreter may run code that this parser cannot read: below strict its pieces are checked, from strict on it
    // is refused.
    match (whole, broken) {
        (Some(tree), _) => check_tree(&tree, code, policy, findings),
        (None, Some(tree)) if policy.level < SafetyLevel::Strict => {
            check_tree(&tree, code, policy, findings);
            check_other(code, policy, findings);
        }
        _ => findings.whole(format!("Code cannot be read as {}", policy.language)),
    }
    Method::SyntaxTree
}

fn check_tree(tree: &Tree, code: &str, policy: &CodePolicy, findings: &mut Findings) {
    match &policy.language {
        Language::Python => python::check(tree, policy, findings),
        Language::JavaScript | Language::TypeScript => javascript::check(tree, policy, findings),
        Language::Bash | Language::Other(_) => {}
    }
    if !policy.patterns.is_empty() {
        let comments = tree.nodes().filter(|node| node.kind() == "comment");
        let with_texts =
            blanked(code, comments.map(|comment| comment.at()..comment.at() + comment.text().len()));
        find_declared(&policy.patterns, &tree_tokens(tree), &with_texts, findings);
    }
}

/// Returns the deepest nesting that brackets could have, strings and comments included: a cheap test before parsing.
fn bracket_depth(code: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in code.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Returns whether a character makes code look different from what it does, or is NUL, at which some readers stop.
fn is_deceptive(c: char) -> bool {
    matches!(c, '\0' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{2060}' | '\u{e0000}'..='\u{e007f}')
}

/// A grammar, and the code to put before and after a piece of a program so that it becomes a whole one.
pub(super) type CodeReading = (Grammar, &'static str, &'static str);

/// The largest number of bytes that is parsed, whatever is declared: a parser's tree takes many times the space of the
/// code.
const MAX_READ_BYTES: u64 = 1024 * 1024;
/// The deepest nesting of brackets that is accepted.
const MAX_DEPTH: usize = 200;

/// Records the violations of `policy` in the code, as far as they can be found without knowing the language.
pub(super) fn check_other(code: &str, policy: &CodePolicy, findings: &mut Findings) {
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

/// Returns the text that closes everything `code` leaves open; `None` if nothing is open, or if its brackets do not
/// match. A language other than Python is read like JavaScript.
///
/// A piece of a program may end in the middle of a function. Closing it adds nothing that runs, so the piece can be
/// judged like a whole program.
fn closing(code: &str, language: &Language) -> Option<String> {
    // What is open, by the text that closes it.
    let mut open: Vec<&'static str> = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let in_text = open.last().copied().filter(|end| end.starts_with(['"', '\'', '`']));
        let step = match in_text {
            Some(end) if rest.starts_with(end) => {
                open.pop();
                end.len()
            }
            Some("`") if rest.starts_with("${") => {
                open.push("}");
                2
            }
            Some(_) if first == '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            Some(_) => first.len_utf8(),
            None => step_in_code(rest, first, *language == Language::Python, &mut open)?,
        };
        rest = rest.get(step..)?;
    }
    let closing: String = open.into_iter().rev().collect();
    (!closing.is_empty()).then(|| format!("\n{closing}\n"))
}

fn step_in_code(rest: &str, first: char, is_python: bool, open: &mut Vec<&'static str>) -> Option<usize> {
    let is_comment = if is_python { first == '#' } else { rest.starts_with("//") };
    if is_comment {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if !is_python && rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    let ends: &[&'static str] = if is_python { &["\"\"\"", "'''", "\"", "'"] } else { &["`", "\"", "'"] };
    if let Some(end) = ends.iter().find(|end| rest.starts_with(**end)) {
        open.push(end);
        return Some(end.len());
    }
    match first {
        '(' => open.push(")"),
        '[' => open.push("]"),
        '{' => open.push("}"),
        ')' | ']' | '}' if !open.pop().is_some_and(|end| end.starts_with(first)) => return None,
        _ => {}
    }
    Some(first.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_closed_from_the_inside_out() {
        assert_eq!(closing("f(() => { [1, `a${b", &Language::JavaScript).as_deref(), Some("\n}`]})\n"));
        assert_eq!(closing("f('(', \"[\") // {", &Language::JavaScript), None);
        assert_eq!(closing("x = ['a',  # (\n", &Language::Python).as_deref(), Some("\n]\n"));
        assert_eq!(closing("x = '''it's", &Language::Python).as_deref(), Some("\n'''\n"));
    }

    #[test]
    fn brackets_that_do_not_match_are_not_mended() {
        assert_eq!(closing("f(]", &Language::JavaScript), None);
        assert_eq!(closing("}", &Language::Python), None);
        assert_eq!(closing("", &Language::Python), None);
    }
}

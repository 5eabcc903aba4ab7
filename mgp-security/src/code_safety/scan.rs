//! The entry points of code safety: checks of code by its language.

use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::{Readonly, Standard, Strict};
use mgp_types::mgp::{CallEffect, CodeRejection, SafetyLevel};
use regex::Regex;

use super::{
    CodeFacts, CodePolicy, Findings, Grammar, Language, NAMES, Pattern, Token, blanked, find_declared,
    tokens_of,
};
use crate::command::{self, CommandPolicy};
use crate::data_file::expression;
use crate::network::is_metadata_url;
use crate::path::{PathAccess, ProtectedPaths};

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
    let grammar = match &policy.language {
        Language::Python => Grammar::python(),
        Language::JavaScript | Language::TypeScript => Grammar::javascript(),
        Language::Bash => {
            check_script(code, policy, findings);
            return Method::SyntaxTree;
        }
        Language::Other(_) => {
            check_other(code, policy, findings);
            return Method::Patterns;
        }
    };
    let Some(facts) = grammar.read(code) else {
        findings.whole(format!("Code cannot be read as {}", policy.language));
        return Method::SyntaxTree;
    };
    // An interpreter may run code that this parser cannot read: below strict its pieces are checked, from strict on it
    // is refused. The types of TypeScript are no JavaScript.
    if facts.has_errors {
        if policy.level >= Strict && policy.language != Language::TypeScript {
            findings.whole(format!("Code cannot be read as {}", policy.language));
        }
        check_other(code, policy, findings);
    }
    check_facts(&facts, grammar.name, code, policy, findings);
    Method::SyntaxTree
}

/// Records the violations of `policy` in what was read of `code`.
fn check_facts(
    facts: &CodeFacts,
    language: &'static str,
    code: &str,
    policy: &CodePolicy,
    findings: &mut Findings,
) {
    for (module, name, at) in &facts.imports {
        check_import(module, name.as_deref(), *at, language, policy, findings);
    }
    // Names that the lists know, by whatever name the code calls them.
    let resolved = |name: &str| {
        let first = name.split('.').next().unwrap_or(name);
        let module = facts.aliases.get(first)?;
        Some(format!("{module}{}", &name[first.len()..]))
    };
    let lists = LEVELS.map(|(level, list)| (level, format!("{language} {list}")));
    let names = facts.names.iter().chain(&facts.paths);
    for (written, at) in names {
        let name = resolved(written).unwrap_or_else(|| written.clone());
        for (level, list) in &lists {
            if let Some(listed) = NAMES.covering(list, &name) {
                findings.pattern(*level, listed, *at);
            }
        }
        if let Some(pattern) = policy.patterns.iter().find(|pattern| pattern.dotted() == name) {
            findings.pattern(Standard, &pattern.text, *at);
        }
    }
    for (member, at) in &facts.members {
        for (level, list) in &lists {
            if NAMES.has(list, &format!(".{member}")) {
                findings.pattern(*level, member, *at);
            }
        }
    }
    for (name, at) in &facts.computed {
        findings.pattern(Strict, &format!("{name}("), *at);
    }
    for (mode, at) in &facts.modes {
        let text = mode.trim_matches(['"', '\'']);
        if text.len() == mode.len() || text.contains(['w', 'a', 'x', '+']) {
            findings.pattern(Readonly, &format!("open(…, {mode}"), *at);
        }
    }
    for (text, range) in &facts.texts {
        let is_placed = text.starts_with(['/', '~']) && !text.contains(char::is_whitespace);
        let is_protected = is_placed && ProtectedPaths::default().check(text, PathAccess::Read).is_err();
        if is_protected || is_metadata_url(text) {
            findings.pattern(Strict, text, range.start);
        }
    }
    if !policy.patterns.is_empty() {
        let with_texts = blanked(code, facts.comments.iter().cloned());
        let bare = blanked(&with_texts, facts.texts.iter().map(|(_, range)| range.clone()));
        find_declared(&policy.patterns, &tokens_of(&bare, 0).collect::<Vec<_>>(), &with_texts, findings);
    }
}

fn check_import(
    module: &str,
    name: Option<&str>,
    at: usize,
    language: &'static str,
    policy: &CodePolicy,
    findings: &mut Findings,
) {
    if language == "javascript" {
        findings.imported.insert(Import::JavaScript(module.into()));
        let is_relative = module.starts_with("./") || module.starts_with("../");
        if !is_relative && policy.refuses_import(module)
            || module.contains(':') && !module.starts_with("node:")
        {
            findings.import(module, at);
        }
        return;
    }
    let path = module.trim_start_matches('.');
    let dots = module.len() - path.len();
    let below = match name {
        Some("*") | None => None,
        Some(name) if path.is_empty() => Some(name.to_owned()),
        Some(name) => Some(format!("{path}.{name}")),
    };
    for path in [Some(path.to_owned()), below.clone()].into_iter().flatten() {
        findings.imported.insert(Import::Python { dots, path: path.into() });
    }
    let is_refused =
        |module: &str| dots == 0 && policy.refuses_import(module) || policy.blocks_import(module);
    if let Some(refused) = [Some(path), below.as_deref()].into_iter().flatten().find(|it| is_refused(it)) {
        findings.import(refused, at);
    }
    let below = below.unwrap_or_default();
    for (level, list) in LEVELS {
        if let Some(listed) = NAMES.covering(&format!("{language} {list}"), &below) {
            findings.pattern(level, listed, at);
        }
    }
    if let Some(pattern) = policy.patterns.iter().find(|pattern| pattern.dotted() == below) {
        findings.pattern(Standard, &pattern.text, at);
    }
}

/// Records the violations of `policy` in a shell script, which is judged like a command.
fn check_script(code: &str, policy: &CodePolicy, findings: &mut Findings) {
    if let Err(finding) = command::check_command(code, &CommandPolicy::default()) {
        findings.whole(format!("Blocked pattern: '{}'", finding.rule));
    }
    let most = if policy.level >= Readonly { CallEffect::Reads } else { CallEffect::Writes };
    if policy.level >= Strict
        && let Some(why) = command::question_about(code, most)
    {
        findings.whole(format!("Not allowed: the script {why}"));
    }
    let (_, with_texts) = strip(code);
    find_declared(&policy.patterns, &tokens_of(&with_texts, 0).collect::<Vec<_>>(), &with_texts, findings);
}

/// The levels that lists are for, each with the word in the headings of names.txt.
const LEVELS: [(SafetyLevel, &str); 3] = [(Standard, "standard"), (Strict, "strict"), (Readonly, "readonly")];

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
        if policy.refuses_import(&name) || NAMES.has("other blocked", &name) {
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
    let list = |(level, list)| {
        let names = NAMES.names(&format!("other {list}"));
        names.iter().map(move |text| (level, Pattern::new(text))).collect::<Vec<_>>()
    };
    LEVELS.into_iter().flat_map(list).collect()
});

/// The forms of imports: `import x`, `use x`, `require 'x'`, `#include <x>`, `using x`, at the start of a line or
/// statement.
static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r#"(?m)(?:^|[;{(=])\s*(?:#\s*include|import(?:\s+static)?|from|use|using|require(?:_once|_relative)?|include(?:_once)?|open|load)\s*[(<"'\s]\s*["'<]?([\w@./:\\-]+)"#,
    )
});
const IMPORT_SIGNS: [&str; 3] = ["#include", "# include", "#["];

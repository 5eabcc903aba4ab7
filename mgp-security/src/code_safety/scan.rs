//! The entry points of code safety: checks of code by its language.

use mgp_types::mgp::{CodeRejection, SafetyLevel};

use super::finding::Findings;
use super::language::Language;
use super::pattern::{blanked, find_declared, tree_tokens};
use super::policy::CodePolicy;
use super::syntax::{Grammar, Tree};
use super::unfinished::closing;
use super::{bash, javascript, other, python};

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
    if findings.is_empty() {
        return Ok(Scan { method, imports: findings.imported.into_iter().collect() });
    }
    Err(CodeRejection::new(findings.violations())
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
    let readings: &[Reading] = match &policy.language {
        Language::Python => python::READINGS,
        Language::JavaScript => javascript::JAVASCRIPT,
        Language::TypeScript => javascript::TYPESCRIPT,
        Language::Bash => {
            bash::check(code, policy, findings);
            return Method::SyntaxTree;
        }
        Language::Other(_) => {
            other::check(code, policy, findings);
            return Method::Patterns;
        }
    };
    let mut broken = None;
    for (grammar, prefix, suffix) in readings {
        let Some(tree) = Tree::parse(*grammar, prefix, code, suffix) else { continue };
        if !tree.has_errors {
            check_tree(&tree, code, policy, findings);
            return Method::SyntaxTree;
        }
        broken.get_or_insert(tree);
    }
    if let Some(tree) = cut_off(code, &policy.language, readings) {
        check_tree(&tree, code, policy, findings);
        return Method::SyntaxTree;
    }
    // An interpreter may run code that this parser cannot read: below strict its pieces are checked, from strict on it
    // is refused.
    match broken {
        Some(tree) if policy.level < SafetyLevel::Strict => {
            check_tree(&tree, code, policy, findings);
            other::check(code, policy, findings);
        }
        _ => findings.whole(format!("Code cannot be read as {}", policy.language)),
    }
    Method::SyntaxTree
}

/// Returns the tree of a code fragment that becomes a whole program once everything it leaves open is closed.
fn cut_off(code: &str, language: &Language, readings: &[Reading]) -> Option<Tree> {
    let (grammar, prefix, _) = readings.first()?;
    let tree = Tree::parse(*grammar, prefix, code, &closing(code, language)?)?;
    (!tree.has_errors).then_some(tree)
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
pub(super) type Reading = (Grammar, &'static str, &'static str);

/// The largest number of bytes that is parsed, whatever is declared: a parser's tree takes many times the space of the
/// code.
const MAX_READ_BYTES: u64 = 1024 * 1024;
/// The deepest nesting of brackets that is accepted.
const MAX_DEPTH: usize = 200;

//! The check of paths against a scope.

use super::arguments::ArgumentFacts;
use super::glob::{Glob, GlobKind};
use super::{ScopeError, refuse_if};
use crate::Finding;

/// The bounds of a scope on paths.
#[derive(Debug, Clone)]
pub(super) struct PathScope {
    allowed: Box<[Glob]>,
    /// The denied paths, matched without regard to case: where the file system is case-sensitive, this denies more,
    /// never less.
    denied: Box<[Glob]>,
}

impl PathScope {
    pub(super) fn new(allowed: &[String], denied: &[String]) -> Result<Self, ScopeError> {
        let allowed = allowed.iter().map(|pattern| Glob::new(pattern, GlobKind::Path));
        let denied = denied.iter().map(|pattern| {
            // A pattern that is not tied to the root denies at any depth.
            let anywhere = !pattern.starts_with(['/', '~']) && !pattern.starts_with("**/");
            let pattern = if anywhere { format!("**/{pattern}") } else { pattern.clone() };
            Glob::new(&pattern, GlobKind::Tree)
        });
        Ok(Self { allowed: allowed.collect::<Result<_, _>>()?, denied: denied.collect::<Result<_, _>>()? })
    }

    pub(super) fn check(&self, facts: &ArgumentFacts<'_>) -> Result<(), Finding> {
        if self.allowed.is_empty() && self.denied.is_empty() {
            return Ok(());
        }
        let opaque = "access to files was granted for certain paths, and a command or code does not show which \
                      it touches";
        refuse_if(facts.code || !facts.commands.is_empty(), ("scope-opaque", opaque))?;
        // A `file:` URL is a path in another form, and some tools take a path where they take a URL.
        let is_path = |text: &&&str| scheme_is_file(text) || (looks_like_path(text) && !text.contains("://"));
        let addresses = facts.hosts.iter().filter(is_path);
        let others = facts.others.iter().filter(|text| looks_like_path(text));
        let mut paths = facts.paths.iter().chain(addresses).chain(others).peekable();
        let is_missing = paths.peek().is_none() && !self.allowed.is_empty();
        paths.try_for_each(|text| self.check_path(text))?;
        // A bare name may also be that of a file.
        let is_denied = |text: &&str| text.len() <= MAX_PATH_BYTES && self.is_denied(text);
        refuse_if(facts.others.iter().any(is_denied), DENIED)?;
        let missing = "the arguments do not show which path is meant; give it as `path`";
        refuse_if(is_missing, ("scope-path", missing))
    }

    fn check_path(&self, text: &str) -> Result<(), Finding> {
        let path = plain(text).ok_or_else(|| {
            Finding::new("scope-path-form", "give an absolute path without `..`, backslashes or escapes")
        })?;
        refuse_if(self.is_denied(&path), DENIED)?;
        if self.allowed.is_empty() {
            // A relative path leads to an unknown place, which could be a denied one.
            return if is_absolute(&path) { Ok(()) } else { Err(relative()) };
        }
        if self.allowed.iter().any(|glob| glob.matches(&path)) {
            return Ok(());
        }
        let refused = || Finding::new("scope-path", "this path was not granted");
        Err(if is_absolute(&path) { refused() } else { relative() })
    }

    /// Returns whether the path, or a directory that contains it, is denied.
    fn is_denied(&self, path: &str) -> bool {
        self.denied.iter().any(|glob| glob.matches(path))
    }
}

/// Returns the path without empty and `.` parts; `None` for a path that only the file system could judge.
fn plain(text: &str) -> Option<String> {
    let decoded;
    let mut text = text;
    if scheme_is_file(text) {
        decoded = url::Url::parse(text.trim()).ok().filter(|url| url.host().is_none())?.path().to_owned();
        text = &decoded;
    }
    let lower = text.to_ascii_lowercase();
    let encoded = ["%2e", "%2f", "%5c", "%00", "%25"].iter().any(|code| lower.contains(code));
    let drive = has_drive(text);
    if text.is_empty() || text.len() > MAX_PATH_BYTES || encoded || text.chars().any(char::is_control) {
        return None;
    }
    // A path with surrounding blanks is a different path to code that trims it.
    if text.trim() != text || (text.contains('\\') && !drive) || text.starts_with("//") {
        return None;
    }
    let slashed = text.replace('\\', "/");
    let parts: Vec<_> = slashed.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    // Windows drops dots and blanks at the end of a name, and reads a stream's name after a colon.
    let is_odd = |part: &&str| *part == ".." || (drive && part.ends_with(['.', ' ']));
    if parts.len() > MAX_DEPTH || parts.iter().any(is_odd) {
        return None;
    }
    let root = if slashed.starts_with('/') { "/" } else { "" };
    let path = format!("{root}{}", parts.join("/"));
    Some(if path.is_empty() { ".".to_owned() } else { path })
}

fn looks_like_path(text: &str) -> bool {
    let text = text.trim_start();
    let climbs = text.split(['/', '\\']).any(|part| part == "..");
    !text.contains('\n')
        && (has_drive(text)
            || climbs
            || scheme_is_file(text)
            || text.starts_with(['/', '~', '\\'])
            || text.starts_with("./"))
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || has_drive(path)
}

fn has_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// Returns whether the text is a `file:` URL, or begins like one.
pub(super) fn scheme_is_file(text: &str) -> bool {
    text.trim_start().get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// The finding about what is denied.
const DENIED: (&str, &str) = ("scope-path", "this path is closed");

fn relative() -> Finding {
    Finding::new("scope-path-form", "give an absolute path: where a relative one leads cannot be seen")
}

/// The largest length of a path, in bytes.
const MAX_PATH_BYTES: usize = 4096;
/// The largest number of parts of a path.
const MAX_DEPTH: usize = 256;

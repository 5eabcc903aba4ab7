//! The validator of paths, an addition to those of the specification. It recognizes the arguments that are paths, and what a
//! call does with them.

use std::cell::LazyCell;

use mgp_types::mgp::{Permission, ResolvedTool, ValidatorName};

use crate::Finding;
use crate::path::{CallFolders, PathAccess, ProtectedPaths, Roots, is_file_address};
use crate::tool::{ArgumentNature, NameManner, UriReadings, hints, words};
use crate::validator::call::{BlockedCall, CallArgument, ValidatedCall, Validator};
use crate::validator::effect::is_listed;

/// A validator that keeps path arguments away from [protected](ProtectedPaths) files, and within configured
/// directories. It is not part of the specification; its name is [`PathsValidator::NAME`].
#[derive(Debug, Clone)]
pub struct PathsValidator {
    name: ValidatorName,
    protected: ProtectedPaths,
    roots: Option<Roots>,
}

impl PathsValidator {
    /// The name of the validator in configurations.
    pub const NAME: &'static str = "dev.cloto.paths";

    /// Creates a validator that keeps paths away from `protected` files.
    pub fn new(protected: ProtectedPaths) -> Self {
        Self { name: ValidatorName::read(Self::NAME), protected, roots: None }
    }

    /// Keeps paths within `roots` as well.
    pub fn within(self, roots: Roots) -> Self {
        Self { roots: Some(roots), ..self }
    }

    /// Checks a path by its name, and whether it is within the roots.
    fn check_path(&self, path: &str, access: PathAccess, folders: CallFolders<'_>) -> Result<(), Finding> {
        self.protected.check(path, access)?;
        self.roots.as_ref().map_or(Ok(()), |roots| roots.check_for(path, folders).map(drop))
    }
}

fn is_between(character: char) -> bool {
    character.is_whitespace() || matches!(character, ',' | ';' | '|' | '"' | '\'' | '[' | ']')
}

impl Validator for PathsValidator {
    fn name(&self) -> &ValidatorName {
        &self.name
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        for argument in &call.arguments {
            let access = LazyCell::new(|| access(call.access, argument));
            let protected = |path: &str| self.protected.check(path, *access);
            argument.check(|text| match likeness(argument, text) {
                // Servers read such a URI in several ways, and each has to lead to an open place.
                Some(PathLikeness::Named) if is_file_address(text) => {
                    let readings = UriReadings::of(text.trim())?;
                    readings.paths.iter().try_for_each(|path| self.check_path(path, *access, call.folders))
                }
                Some(PathLikeness::Named) => {
                    // Some tools accept several paths in one text.
                    let mut parts = text.split(is_between).filter(|part| !part.is_empty());
                    parts.try_for_each(protected)?;
                    self.check_path(text, *access, call.folders)
                }
                Some(PathLikeness::Written) => {
                    protected(text)?;
                    let roots = self.roots.as_ref();
                    roots.map_or(Ok(()), |roots| roots.locate_named(text, call.folders).map(drop))
                }
                Some(PathLikeness::Perhaps) => protected(text),
                None => Ok(()),
            })?;
        }
        Ok(())
    }
}

/// The certainty with which an argument is a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathLikeness {
    /// The argument's name or schema says that it is a path, or its value is a `file:` URI.
    Named,
    /// The value is written like a path: it begins at a root, in a home or in a parent directory.
    Written,
    /// The value is a single word, which may be the name of a file.
    Perhaps,
}

/// Returns how certain it is that `text`, one reading of `argument`, is a path; `None` if it is not a path.
fn likeness(argument: &CallArgument, text: &str) -> Option<PathLikeness> {
    let line = text.trim();
    let is_line = !line.is_empty() && line.len() <= MAX_BYTES && !line.contains('\n');
    match argument.nature {
        ArgumentNature::Path => Some(PathLikeness::Named),
        ArgumentNature::Text | ArgumentNature::Sql | ArgumentNature::Command | ArgumentNature::HttpMethod => {
            None
        }
        _ if is_line && is_file_address(line) => Some(PathLikeness::Named),
        // Some tools accept a path where they accept a URL.
        ArgumentNature::Url => (is_line && !line.contains("://")).then_some(PathLikeness::Perhaps),
        // `exclude: [".env"]` lists what is left out.
        _ if !is_line
            || words(&argument.name).iter().any(|word| is_listed("word of what is left out", word)) =>
        {
            None
        }
        nature => {
            let is_word = !line.contains(char::is_whitespace);
            if begins_like_a_path(line) && (is_word || nature == ArgumentNature::Unknown) {
                Some(PathLikeness::Written)
            } else {
                is_word.then_some(PathLikeness::Perhaps)
            }
        }
    }
}

/// Returns what a call to a tool does with the file that `argument` names; `of_tool` is [what the tool does with
/// files](access_of_tool).
fn access(of_tool: PathAccess, argument: &CallArgument) -> PathAccess {
    let words = words(&argument.name);
    let is_place = words.last().is_some_and(|last| is_listed("last word of a working directory", last))
        || words.iter().any(|word| word == "working");
    let is_source = || words.iter().any(|word| is_listed("word of a source", word));
    // A working directory is only read, and a file that is copied stays unchanged.
    if is_place || (of_tool == PathAccess::Write && is_source()) { PathAccess::Read } else { of_tool }
}

/// Returns what `tool` does with files. The name of the tool decides; the annotations of its server count only if the
/// name says nothing.
pub(crate) fn access_of_tool(tool: &ResolvedTool) -> PathAccess {
    let name =
        tool.definition.text("name").map_or_else(|| tool.name.to_string(), std::borrow::Cow::into_owned);
    if words(&name).iter().any(|word| is_listed("verb that removes files", word)) {
        return PathAccess::Remove;
    }
    let writes = tool.security.permissions.contains(&Permission::FilesystemWrite);
    let says_it_reads = || hints(&tool.definition).read_only_hint == Some(true);
    match NameManner::of(&name) {
        NameManner::Reads if !writes => PathAccess::Read,
        NameManner::Unclear if !writes && says_it_reads() => PathAccess::Read,
        _ => PathAccess::Write,
    }
}

fn begins_like_a_path(text: &str) -> bool {
    let has_drive =
        matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    has_drive
        || ["/", "\\", "~", "./", "../", ".\\", "..\\", "$", "%"].iter().any(|start| text.starts_with(start))
}

/// The largest length in bytes of a text that can be a path, which is the limit of Linux.
const MAX_BYTES: usize = 4096;

//! The validators of the specification, and an additional one for paths, which apply the engines of the other modules
//! to the arguments of calls, and the registry of all validators by name.

#[cfg(feature = "code-safety")]
mod code;
mod network;
mod references;

use std::cell::LazyCell;
use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::{Permission, ResolvedTool, ValidatorName};

#[cfg(feature = "code-safety")]
pub use self::code::CodeValidator;
pub use self::network::{AddressesValidator, NetworkValidator};
use super::call::{BlockedCall, CallArgument, Located, ValidatedCall, Validator};
use super::readonly::{check_http_method, check_line_reads, check_sql, check_tool_name};
use crate::Finding;
use crate::command::{CommandPolicy, CommandVerdict, check_command, check_word, is_more_than_data};
use crate::network::NetworkPolicy;
use crate::path::{CallFolders, PathAccess, ProtectedPaths, Roots, is_file_address};
use crate::shell::quoted;
use crate::tool::{ArgumentNature, NameManner, UriReadings, hints, is_listed, words};

/// The available validators, by name, but for `none`, which passes everything: the server protects itself.
///
/// An unknown name is never skipped: a tool that requires an unknown validator cannot be called.
#[derive(Debug, Clone)]
pub struct Validators(HashMap<ValidatorName, Arc<dyn Validator>, foldhash::fast::RandomState>);

impl Validators {
    /// Returns the standard validators (§4.5) with their default settings. `code_safety` is among them if the feature
    /// `code-safety` is enabled.
    pub fn standard() -> Self {
        let standard = Self(HashMap::default())
            .with(SandboxValidator::default())
            .with(ReadonlyValidator)
            .with(NetworkValidator::default())
            .with(PathsValidator::new(ProtectedPaths::default()))
            .with(AddressesValidator::new(NetworkPolicy::default()));
        #[cfg(feature = "code-safety")]
        let standard = standard.with(CodeValidator);
        standard
    }

    /// Adds a validator; it replaces the one with the same name, if there is one.
    pub fn with(mut self, validator: impl Validator) -> Self {
        self.0.insert(validator.name().clone(), Arc::new(validator));
        self
    }

    /// Returns the validator with this name.
    pub fn get(&self, name: &ValidatorName) -> Option<&Arc<dyn Validator>> {
        self.0.get(name)
    }
}

/// The validator `readonly`: the tool only reads or, if its arguments tell it what to do, the arguments only ask for
/// reads.
#[derive(Debug, Clone, Copy)]
pub struct ReadonlyValidator;

impl Validator for ReadonlyValidator {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::Readonly
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        let annotations = call.tool.definition.get("annotations");
        let unreadable = |_| Finding::new("writes", "the tool's annotations cannot be read");
        let annotations =
            annotations.map(|raw| raw.to::<ToolAnnotations>()).transpose().map_err(unreadable)?;
        let tells = |argument: &CallArgument| TELLING.contains(&argument.nature);
        if !call.arguments.iter().any(tells) {
            check_tool_name(call.tool.name.as_str(), annotations.as_ref())?;
        }
        for argument in &call.arguments {
            argument.check(|text| match argument.nature {
                ArgumentNature::Sql => check_sql(text),
                ArgumentNature::HttpMethod => check_http_method(text),
                ArgumentNature::Command => check_line_reads(text, call.folders.own()),
                _ => Ok(()),
            })?;
        }
        Ok(())
    }
}

/// The validator `sandbox`: no argument may make a shell do harm (§4.5).
///
/// What no command may do is refused. A person is asked about a command that is not known, and about every other argument
/// that a shell might read as more than a single word of data.
#[derive(Debug, Clone, Default)]
pub struct SandboxValidator {
    policy: CommandPolicy,
}

impl SandboxValidator {
    /// Creates a validator that applies `policy`.
    pub fn new(policy: CommandPolicy) -> Self {
        Self { policy }
    }

    /// Checks a command whose words are separate arguments, together with the program that they belong to.
    fn check_vector(&self, call: &ValidatedCall<'_>, vector: &[CallArgument]) -> Result<(), Located> {
        let Some(first) = vector.first() else { return Ok(()) };
        let program = program_beside(call, vector).map(|program| program.text.clone());
        let words = program.into_iter().chain(vector.iter().map(|word| quoted(&word.text)));
        let line = words.collect::<Vec<_>>().join(" ");
        check_command(&line, &self.policy).map_err(|finding| first.locate(finding))
    }
}

impl Validator for SandboxValidator {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::Sandbox
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        let is_one_array = |one: &CallArgument, next: &CallArgument| {
            one.array().is_some_and(|array| next.array() == Some(array))
        };
        for group in call.arguments.chunk_by(is_one_array) {
            if group[0].array().is_some() && is_of_command(&group[0]) {
                self.check_vector(call, group)?;
                continue;
            }
            for argument in group {
                argument.check(|text| match argument.nature {
                    ArgumentNature::Command => check_command(text, &self.policy),
                    ArgumentNature::Text | ArgumentNature::Code | ArgumentNature::Sql => Ok(()),
                    _ => check_word(text),
                })?;
            }
        }
        Ok(())
    }

    fn asks_about(&self, call: &ValidatedCall<'_>) -> bool {
        call.arguments.iter().any(|argument| match argument.nature {
            ArgumentNature::Text | ArgumentNature::Code | ArgumentNature::Sql => false,
            ArgumentNature::Command => {
                CommandVerdict::of(&argument.text, call.folders.own()).deed.is_none()
                    && argument.array().is_none()
            }
            // A URL has `&` and `%` where a shell reads none.
            ArgumentNature::Url => {
                argument.text.contains(|sign: char| sign.is_whitespace() || "'\"`|;<>$\\".contains(sign))
            }
            _ => !is_of_command(argument) && is_more_than_data(&argument.text),
        })
    }
}

/// Returns whether an element of an array is a word of a command.
fn is_of_command(argument: &CallArgument) -> bool {
    const VECTORS: [&str; 6] = ["args", "arguments", "argv", "parameters", "options", "flags"];
    argument.nature == ArgumentNature::Command || VECTORS.contains(&&*argument.name.to_lowercase())
}

/// Returns the program in the member beside an array of its arguments, as in `{"command": "rm", "args": ["-rf"]}`.
fn program_beside<'a>(call: &'a ValidatedCall<'_>, vector: &[CallArgument]) -> Option<&'a CallArgument> {
    let parent = |pointer: &'a str| pointer.rsplit_once('/').map(|(parent, _)| parent);
    let array = vector.first()?.array()?;
    let object = array.rsplit_once('/')?.0;
    call.of(ArgumentNature::Command)
        .find(|program| program.array().is_none() && parent(&program.pointer) == Some(object))
}

/// The natures of arguments that show themselves whether the call reads or writes, so that the name of the tool need
/// not.
const TELLING: [ArgumentNature; 3] =
    [ArgumentNature::Sql, ArgumentNature::HttpMethod, ArgumentNature::Command];

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
        // What a file is to hold may name other files; whoever draws or converts a text opens those that it names.
        let is_kept = call.of(ArgumentNature::Path).next().is_some();
        for argument in &call.arguments {
            let access = LazyCell::new(|| access(call.access, argument));
            let protected = |path: &str| self.protected.check(path, *access);
            let written = |text: &str| {
                protected(text)?;
                let roots = self.roots.as_ref();
                roots.map_or(Ok(()), |roots| roots.locate_named(text, call.folders).map(drop))
            };
            argument.check(|text| match likeness(argument, text) {
                // A server may read the members of such a text as arguments.
                _ if argument.nature == ArgumentNature::Unknown
                    && text.trim_start().starts_with(['{', '[']) =>
                {
                    protected(text)?;
                    text.split(is_between).filter(|part| begins_like_a_path(part)).try_for_each(written)
                }
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
                Some(PathLikeness::Written) => written(text),
                Some(PathLikeness::Perhaps) => protected(text),
                None if argument.nature == ArgumentNature::Text && !is_kept => {
                    references::in_text(text).try_for_each(written)
                }
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
pub(super) fn access_of_tool(tool: &ResolvedTool) -> PathAccess {
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

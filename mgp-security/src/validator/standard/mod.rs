//! The validators of the specification, which apply the engines of the other modules to the arguments of calls, and
//! the registry of all validators by name.

#[cfg(feature = "code-safety")]
mod code;
mod network;
mod paths;

#[cfg(feature = "code-safety")]
pub use self::code::CodeValidator;
pub use self::network::{AddressesValidator, NetworkValidator};
pub use self::paths::PathsValidator;
pub(super) use self::paths::access_of_tool;

use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::ValidatorName;

use super::call::{BlockedCall, CallArgument, Located, ValidatedCall, Validator};
use super::readonly::{check_http_method, check_line_reads, check_sql, check_tool_name};
use super::sandbox::{CommandPolicy, check_command, check_word};
use crate::Finding;
use crate::network::NetworkPolicy;
use crate::path::ProtectedPaths;
use crate::shell::quoted;
use crate::tool::ArgumentNature;

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
                ArgumentNature::Command => check_line_reads(text),
                _ => Ok(()),
            })?;
        }
        Ok(())
    }
}

/// The validator `sandbox`: no argument may make a shell do harm (§4.5).
///
/// A command is judged by the policy as a whole, together with arguments that are given separately. Every other
/// argument that may end up in a command has to stay a single word of it.
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
                    ArgumentNature::Url => check_url_word(text),
                    ArgumentNature::Text | ArgumentNature::Code | ArgumentNature::Sql => Ok(()),
                    _ => check_word(text),
                })?;
            }
        }
        Ok(())
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

/// Checks a URL as a word of a command. A URL contains characters that other words may not; only those that end a word
/// are refused, because a URL can always encode them.
fn check_url_word(url: &str) -> Result<(), Finding> {
    let ends_word = |character: char| character.is_whitespace() || "'\"`|;<>\\(){}^".contains(character);
    if url.contains(ends_word) || url.contains("$(") || url.starts_with('-') {
        let why = "percent-encode the characters of the URL that a shell would read";
        return Err(Finding::new("separator", why));
    }
    Ok(())
}

/// The natures of arguments that show themselves whether the call reads or writes, so that the name of the tool need
/// not.
const TELLING: [ArgumentNature; 3] =
    [ArgumentNature::Sql, ArgumentNature::HttpMethod, ArgumentNature::Command];

//! The validator `sandbox`.

use mgp_types::mgp::ValidatorName;

use crate::Finding;
use crate::shell::quoted;
use crate::tool::ArgumentNature;
use crate::validator::call::{BlockedCall, CallArgument, Located, ValidatedCall, Validator};
use crate::validator::sandbox::{CommandPolicy, check_command, check_word};

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
        let mut read = 0;
        while let Some(argument) = call.arguments.get(read) {
            let vector = argument.array().filter(|_| is_of_command(argument)).map(|array| {
                let rest = &call.arguments[read..];
                let end = rest.iter().position(|next| next.array() != Some(array)).unwrap_or(rest.len());
                &rest[..end]
            });
            if let Some(vector) = vector {
                self.check_vector(call, vector)?;
                read += vector.len();
                continue;
            }
            argument.check(|text| match argument.nature {
                ArgumentNature::Command => check_command(text, &self.policy),
                ArgumentNature::Url => check_url_word(text),
                ArgumentNature::Text | ArgumentNature::Code | ArgumentNature::Sql => Ok(()),
                _ => check_word(text),
            })?;
            read += 1;
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
        return Err(Finding::new(
            "separator",
            "percent-encode the characters of the URL that a shell would read",
        ));
    }
    Ok(())
}

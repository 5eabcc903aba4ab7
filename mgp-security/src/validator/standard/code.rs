//! The validator `code_safety`.

use mgp_types::mgp::{CodeSafety, SafetyLevel, ValidatorName};

use crate::Finding;
use crate::code_safety::{CodePolicy, scan};
use crate::tool::ArgumentNature;
use crate::validator::call::{BlockedCall, CallArgument, ValidatedCall, Validator};

/// The validator `code_safety`: it refuses code among the arguments that does something its level forbids (§7).
///
/// The declarations of the server and of the operator are applied together, and the stricter one counts. Without any
/// declared level, the level is `standard`. The language is the declared one, or the value of an argument such as
/// `language`.
#[derive(Debug, Clone, Copy)]
pub struct CodeValidator;

impl Validator for CodeValidator {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::CodeSafety
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        let mut declared: Option<CodeSafety> = None;
        for declaration in &call.tool.security.code_safety {
            let message = "what code has to keep to is declared in no known form";
            let unreadable = |_| Finding::new("unreadable-declaration", message);
            let declaration: CodeSafety = declaration.to().map_err(unreadable)?;
            declared = declared.map(|other| other.confine(&declaration)).or(Some(declaration));
        }
        let mut safety = declared.unwrap_or_else(|| CodeSafety::new(SafetyLevel::Standard));
        if safety.language.is_none() {
            safety.language = language(call).map(Into::into);
        }
        let policy = CodePolicy::new(&safety);
        for argument in code(call) {
            for reading in argument.readings() {
                scan(reading, &policy).map_err(|rejection| BlockedCall::Code(Box::new(rejection)))?;
            }
        }
        Ok(())
    }
}

/// Returns the code among the arguments; if no argument is known to be code, those that may be code.
fn code<'a>(call: &'a ValidatedCall<'_>) -> impl Iterator<Item = &'a CallArgument> {
    let known = call.of(ArgumentNature::Code).next().is_some();
    call.arguments.iter().filter(move |argument| match argument.nature {
        ArgumentNature::Code => true,
        ArgumentNature::Unknown | ArgumentNature::Text => !known && !LANGUAGE.contains(&&*argument.name),
        _ => false,
    })
}

fn language<'a>(call: &'a ValidatedCall<'_>) -> Option<&'a str> {
    call.arguments.iter().find(|argument| LANGUAGE.contains(&&*argument.name)).map(|argument| &*argument.text)
}

const LANGUAGE: [&str; 4] = ["language", "lang", "runtime", "interpreter"];

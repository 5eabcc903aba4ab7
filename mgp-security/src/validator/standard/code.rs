//! The validator `code_safety`.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
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
#[derive(Debug, Clone, Default)]
pub struct CodeValidator {
    /// A cache of policies, one for each different declaration of tools. Creating a policy costs more than a scan.
    policies: Arc<ArcSwap<HashMap<CodeSafety, Arc<CodePolicy>, foldhash::fast::RandomState>>>,
}

impl CodeValidator {
    fn policy(&self, safety: &CodeSafety) -> Arc<CodePolicy> {
        if let Some(known) = self.policies.load().get(safety) {
            return known.clone();
        }
        let policy = Arc::new(CodePolicy::new(safety));
        self.policies.rcu(|known| {
            // Callers choose the language, so the number of policies has to be limited.
            let mut known =
                if known.len() < MAX_POLICIES { HashMap::clone(known) } else { HashMap::default() };
            known.insert(safety.clone(), policy.clone());
            known
        });
        policy
    }
}

impl Validator for CodeValidator {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::CodeSafety
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        let mut declared: Option<CodeSafety> = None;
        for declaration in &call.tool.security.code_safety {
            let declaration: CodeSafety = declaration.to().map_err(|_| {
                Finding::new(
                    "unreadable-declaration",
                    "what code has to keep to is declared in no known form",
                )
            })?;
            declared = Some(match declared {
                Some(other) => other.confine(&declaration),
                None => declaration,
            });
        }
        let mut safety = declared.unwrap_or_else(|| CodeSafety::new(SafetyLevel::Standard));
        if safety.language.is_none() {
            safety.language = language(call).map(Into::into);
        }
        let policy = self.policy(&safety);
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

const MAX_POLICIES: usize = 1024;

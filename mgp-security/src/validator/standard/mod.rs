//! The validators of the specification, which apply the engines of the other modules to the arguments of calls, and
//! the registry of all validators by name.

#[cfg(feature = "code-safety")]
mod code;
mod network;
mod paths;
mod sandbox;

#[cfg(feature = "code-safety")]
pub use self::code::CodeValidator;
pub use self::network::{AddressesValidator, NetworkValidator};
pub use self::paths::PathsValidator;
pub use self::sandbox::SandboxValidator;

use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::ValidatorName;

use super::call::{BlockedCall, CallArgument, ValidatedCall, Validator};
use super::readonly::{check_http_method, check_line_reads, check_sql, check_tool_name};
use crate::Finding;
use crate::network::NetworkPolicy;
use crate::path::ProtectedPaths;
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
        let annotations: Option<ToolAnnotations> = match annotations.map(|raw| raw.to()).transpose() {
            Ok(annotations) => annotations,
            Err(_) => return Err(Finding::new("writes", "the tool's annotations cannot be read").into()),
        };
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

/// The natures of arguments that show themselves whether the call reads or writes, so that the name of the tool need
/// not.
const TELLING: [ArgumentNature; 3] =
    [ArgumentNature::Sql, ArgumentNature::HttpMethod, ArgumentNature::Command];

//! The validators of the specification, which apply the engines of the other modules to the arguments of calls.

#[cfg(feature = "code-safety")]
mod code;
mod network;
mod paths;
mod readonly;
mod sandbox;

#[cfg(feature = "code-safety")]
pub use self::code::CodeValidator;
pub use self::network::NetworkValidator;
pub use self::paths::PathsValidator;
pub use self::readonly::ReadonlyValidator;
pub use self::sandbox::SandboxValidator;

use mgp_types::mgp::ValidatorName;

use super::call::ValidatedCall;
use super::validate::{BlockedCall, Validator};

/// The validator `none`, which passes everything: the server protects itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoneValidator;

impl Validator for NoneValidator {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::None
    }

    fn check(&self, _: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        Ok(())
    }
}

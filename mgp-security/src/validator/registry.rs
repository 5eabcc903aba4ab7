use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::mgp::ValidatorName;

use super::path::ProtectedPaths;
use super::standard::{NetworkValidator, NoneValidator, PathsValidator, ReadonlyValidator, SandboxValidator};
use super::validate::Validator;

/// The validators there are, by name.
///
/// A name that nobody here knows is never skipped: a tool that asks for it cannot be called.
#[derive(Debug, Clone)]
pub struct Validators(HashMap<ValidatorName, Arc<dyn Validator>, foldhash::fast::RandomState>);

impl Validators {
    /// The standard validators (§4.5) as they are by default; `code_safety` is there with the feature of that name.
    pub fn standard() -> Self {
        let none = Self(HashMap::default());
        let paths = PathsValidator::new(ProtectedPaths::default());
        let standard =
            none.with(SandboxValidator::default()).with(ReadonlyValidator).with(NetworkValidator::default());
        let standard = standard.with(NoneValidator).with(paths);
        #[cfg(feature = "code-safety")]
        let standard = standard.with(super::standard::CodeValidator::default());
        standard
    }

    /// With one more, or another one in the place of the one with its name.
    pub fn with(mut self, validator: impl Validator) -> Self {
        self.0.insert(validator.name().clone(), Arc::new(validator));
        self
    }

    /// The validator with this name.
    pub fn get(&self, name: &ValidatorName) -> Option<&Arc<dyn Validator>> {
        self.0.get(name)
    }
}

impl Default for Validators {
    fn default() -> Self {
        Self::standard()
    }
}

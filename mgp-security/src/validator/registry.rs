//! The registry of validators by name.

use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::mgp::ValidatorName;

use super::path::ProtectedPaths;
use super::standard::{NetworkValidator, NoneValidator, PathsValidator, ReadonlyValidator, SandboxValidator};
use super::validate::Validator;

/// The available validators, by name.
///
/// An unknown name is never skipped: a tool that requires an unknown validator cannot be called.
#[derive(Debug, Clone)]
pub struct Validators(HashMap<ValidatorName, Arc<dyn Validator>, foldhash::fast::RandomState>);

impl Validators {
    /// Returns the standard validators (§4.5) with their default settings. `code_safety` is among them if the feature
    /// `code-safety` is enabled.
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

impl Default for Validators {
    fn default() -> Self {
        Self::standard()
    }
}

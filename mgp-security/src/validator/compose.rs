use std::sync::Arc;

use mgp_types::mgp::ValidatorName;

use super::call::ValidatedCall;
use super::validate::{BlockedCall, Validator};
use crate::Finding;

/// Passes what every one of its validators passes.
#[derive(Debug, Clone)]
pub struct AllOf {
    name: ValidatorName,
    of: Vec<Arc<dyn Validator>>,
}

/// Passes what at least one of its validators passes.
#[derive(Debug, Clone)]
pub struct AnyOf {
    name: ValidatorName,
    of: Vec<Arc<dyn Validator>>,
}

/// Passes what its validator refuses.
#[derive(Debug, Clone)]
pub struct Not {
    name: ValidatorName,
    of: Arc<dyn Validator>,
}

impl AllOf {
    /// Composes validators under a name of its own.
    pub fn new(name: &str, of: impl IntoIterator<Item = Arc<dyn Validator>>) -> Self {
        Self { name: ValidatorName::read(name), of: of.into_iter().collect() }
    }
}

impl AnyOf {
    /// Composes validators under a name of its own.
    pub fn new(name: &str, of: impl IntoIterator<Item = Arc<dyn Validator>>) -> Self {
        Self { name: ValidatorName::read(name), of: of.into_iter().collect() }
    }
}

impl Not {
    /// Turns a validator around, under a name of its own.
    pub fn new(name: &str, of: Arc<dyn Validator>) -> Self {
        Self { name: ValidatorName::read(name), of }
    }
}

impl Validator for AllOf {
    fn name(&self) -> &ValidatorName {
        &self.name
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        self.of.iter().try_for_each(|validator| validator.check(call))
    }
}

impl Validator for AnyOf {
    fn name(&self) -> &ValidatorName {
        &self.name
    }

    /// Of an empty choice nothing can be passed.
    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        let mut refused =
            Finding::new("no-choice", "the operator configured no alternative for this tool").into();
        for validator in &self.of {
            match validator.check(call) {
                Ok(()) => return Ok(()),
                Err(blocked) => refused = blocked,
            }
        }
        Err(refused)
    }
}

impl Validator for Not {
    fn name(&self) -> &ValidatorName {
        &self.name
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        match self.of.check(call) {
            Ok(()) => Err(Finding::new("excluded", "the operator excluded calls of this kind").into()),
            Err(_) => Ok(()),
        }
    }
}

//! Validators that are composed of others: all of them, any of them, or the opposite of one.

use std::sync::Arc;

use mgp_types::mgp::ValidatorName;

use super::call::ValidatedCall;
use super::validate::{BlockedCall, Validator};
use crate::Finding;

/// A validator that passes a call if every one of its validators passes it.
#[derive(Debug, Clone)]
pub struct AllOf {
    name: ValidatorName,
    of: Vec<Arc<dyn Validator>>,
}

/// A validator that passes a call if at least one of its validators passes it.
#[derive(Debug, Clone)]
pub struct AnyOf {
    name: ValidatorName,
    of: Vec<Arc<dyn Validator>>,
}

/// A validator that passes a call if its inner validator refuses it.
#[derive(Debug, Clone)]
pub struct Not {
    name: ValidatorName,
    of: Arc<dyn Validator>,
}

impl AllOf {
    /// Creates a validator with this name from `of`.
    pub fn new(name: &str, of: impl IntoIterator<Item = Arc<dyn Validator>>) -> Self {
        Self { name: ValidatorName::read(name), of: of.into_iter().collect() }
    }
}

impl AnyOf {
    /// Creates a validator with this name from `of`.
    pub fn new(name: &str, of: impl IntoIterator<Item = Arc<dyn Validator>>) -> Self {
        Self { name: ValidatorName::read(name), of: of.into_iter().collect() }
    }
}

impl Not {
    /// Creates a validator with this name that negates `of`.
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

    /// Checks the call with each validator in turn until one passes it. Without any validators, every call is refused.
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

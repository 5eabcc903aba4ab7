use std::sync::Arc;

use mgp_types::mgp::ValidatorName;

use super::call::Call;
use super::validate::{Blocked, Validator};
use crate::Finding;

/// Passes what every one of its validators passes.
#[derive(Debug, Clone)]
pub struct All {
    name: ValidatorName,
    of: Vec<Arc<dyn Validator>>,
}

/// Passes what at least one of its validators passes.
#[derive(Debug, Clone)]
pub struct Any {
    name: ValidatorName,
    of: Vec<Arc<dyn Validator>>,
}

/// Passes what its validator refuses.
#[derive(Debug, Clone)]
pub struct Not {
    name: ValidatorName,
    of: Arc<dyn Validator>,
}

impl All {
    /// Composes validators under a name of its own.
    pub fn new(name: &str, of: impl IntoIterator<Item = Arc<dyn Validator>>) -> Self {
        Self { name: ValidatorName::read(name), of: of.into_iter().collect() }
    }
}

impl Any {
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

impl Validator for All {
    fn name(&self) -> &ValidatorName {
        &self.name
    }

    fn check(&self, call: &Call<'_>) -> Result<(), Blocked> {
        self.of.iter().try_for_each(|validator| validator.check(call))
    }
}

impl Validator for Any {
    fn name(&self) -> &ValidatorName {
        &self.name
    }

    /// Of an empty choice nothing can be passed.
    fn check(&self, call: &Call<'_>) -> Result<(), Blocked> {
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

    fn check(&self, call: &Call<'_>) -> Result<(), Blocked> {
        match self.of.check(call) {
            Ok(()) => Err(Finding::new("excluded", "the operator excluded calls of this kind").into()),
            Err(_) => Ok(()),
        }
    }
}

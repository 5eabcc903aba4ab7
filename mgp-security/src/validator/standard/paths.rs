use mgp_types::mgp::ValidatorName;

use crate::tool::Nature;
use crate::validator::call::Call;
use crate::validator::path::Roots;
use crate::validator::validate::{Blocked, Validator};

/// Holds path arguments within configured directories. Not of the specification: its name is [`Paths::NAME`].
#[derive(Debug, Clone)]
pub struct Paths {
    name: ValidatorName,
    roots: Roots,
}

impl Paths {
    /// The name that configurations ask for it by.
    pub const NAME: &'static str = "dev.cloto.paths";

    /// Holds paths within `roots`.
    pub fn new(roots: Roots) -> Self {
        Self { name: ValidatorName::read(Self::NAME), roots }
    }
}

impl Validator for Paths {
    fn name(&self) -> &ValidatorName {
        &self.name
    }

    fn check(&self, call: &Call<'_>) -> Result<(), Blocked> {
        for argument in call.of(Nature::Path) {
            argument.check(|text| self.roots.check(text).map(drop))?;
        }
        Ok(())
    }
}

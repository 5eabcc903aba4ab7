use mgp_types::mgp::ValidatorName;

use crate::Finding;
use crate::validator::call::ValidatedCall;
use crate::validator::path::{PathAccess, PathLikeness, ProtectedPaths, Roots, access, likeness};
use crate::validator::validate::{BlockedCall, Validator};

/// Keeps path arguments away from what is [protected](ProtectedPaths), and within configured directories. Not of the
/// specification: its name is [`PathsValidator::NAME`].
#[derive(Debug, Clone)]
pub struct PathsValidator {
    name: ValidatorName,
    protected: ProtectedPaths,
    roots: Option<Roots>,
}

impl PathsValidator {
    /// The name that configurations ask for it by.
    pub const NAME: &'static str = "dev.cloto.paths";

    /// Keeps paths away from what is `protected`.
    pub fn new(protected: ProtectedPaths) -> Self {
        Self { name: ValidatorName::read(Self::NAME), protected, roots: None }
    }

    /// Holds paths within `roots`, too.
    pub fn within(mut self, roots: Roots) -> Self {
        self.roots = Some(roots);
        self
    }

    /// Checks a path or a `file:` address that is for `access`.
    ///
    /// # Errors
    /// It is protected, or leads outside of the roots.
    pub(crate) fn check_path(&self, path: &str, access: PathAccess) -> Result<(), Finding> {
        self.protected.check(path, access)?;
        self.roots.as_ref().map_or(Ok(()), |roots| roots.check(path).map(drop))
    }

    fn check_reading(&self, text: &str, likeness: PathLikeness, access: PathAccess) -> Result<(), Finding> {
        match likeness {
            PathLikeness::Named => {
                // Some take several paths in one text.
                let mut parts = text.split(is_between).filter(|part| !part.is_empty());
                parts.try_for_each(|part| self.protected.check(part, access))?;
                self.check_path(text, access)
            }
            PathLikeness::Written => {
                self.protected.check(text, access)?;
                self.roots.as_ref().map_or(Ok(()), |roots| roots.check_likely(text))
            }
            PathLikeness::Perhaps => self.protected.check(text, access),
        }
    }
}

fn is_between(character: char) -> bool {
    character.is_whitespace() || matches!(character, ',' | ';' | '|' | '"' | '\'' | '[' | ']')
}

impl Validator for PathsValidator {
    fn name(&self) -> &ValidatorName {
        &self.name
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        for argument in &call.arguments {
            let access = access(call.tool, argument);
            argument.check(|text| match likeness(argument, text) {
                Some(likeness) => self.check_reading(text, likeness, access),
                None => Ok(()),
            })?;
        }
        Ok(())
    }
}

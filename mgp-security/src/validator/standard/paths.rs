use mgp_types::mgp::ValidatorName;

use crate::Finding;
use crate::validator::call::Call;
use crate::validator::path::{Likeness, PathAccess, Protected, Roots, access, likeness};
use crate::validator::validate::{Blocked, Validator};

/// Keeps path arguments away from what is [protected](Protected), and within configured directories. Not of the
/// specification: its name is [`Paths::NAME`].
#[derive(Debug, Clone)]
pub struct Paths {
    name: ValidatorName,
    protected: Protected,
    roots: Option<Roots>,
}

impl Paths {
    /// The name that configurations ask for it by.
    pub const NAME: &'static str = "dev.cloto.paths";

    /// Keeps paths away from what is `protected`.
    pub fn new(protected: Protected) -> Self {
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

    fn check_reading(&self, text: &str, likeness: Likeness, access: PathAccess) -> Result<(), Finding> {
        match likeness {
            Likeness::Named => {
                // Some take several paths in one text.
                let mut parts = text.split(is_between).filter(|part| !part.is_empty());
                parts.try_for_each(|part| self.protected.check(part, access))?;
                self.check_path(text, access)
            }
            Likeness::Written => {
                self.protected.check(text, access)?;
                self.roots.as_ref().map_or(Ok(()), |roots| roots.check_likely(text))
            }
            Likeness::Perhaps => self.protected.check(text, access),
        }
    }
}

fn is_between(character: char) -> bool {
    character.is_whitespace() || matches!(character, ',' | ';' | '|' | '"' | '\'' | '[' | ']')
}

impl Validator for Paths {
    fn name(&self) -> &ValidatorName {
        &self.name
    }

    fn check(&self, call: &Call<'_>) -> Result<(), Blocked> {
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

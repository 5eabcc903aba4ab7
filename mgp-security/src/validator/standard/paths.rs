//! The validator of paths, an addition to those of the specification.

use std::cell::LazyCell;

use mgp_types::mgp::ValidatorName;

use crate::Finding;
use crate::path::{CallFolders, PathAccess, ProtectedPaths, Roots, is_file_address};
use crate::tool::UriReadings;
use crate::validator::call::{BlockedCall, ValidatedCall, Validator};
use crate::validator::path_argument::{PathLikeness, access, likeness};

/// A validator that keeps path arguments away from [protected](ProtectedPaths) files, and within configured
/// directories. It is not part of the specification; its name is [`PathsValidator::NAME`].
#[derive(Debug, Clone)]
pub struct PathsValidator {
    name: ValidatorName,
    protected: ProtectedPaths,
    roots: Option<Roots>,
}

impl PathsValidator {
    /// The name of the validator in configurations.
    pub const NAME: &'static str = "dev.cloto.paths";

    /// Creates a validator that keeps paths away from `protected` files.
    pub fn new(protected: ProtectedPaths) -> Self {
        Self { name: ValidatorName::read(Self::NAME), protected, roots: None }
    }

    /// Keeps paths within `roots` as well.
    pub fn within(mut self, roots: Roots) -> Self {
        self.roots = Some(roots);
        self
    }

    fn check_reading(
        &self,
        text: &str,
        likeness: PathLikeness,
        access: PathAccess,
        folders: CallFolders<'_>,
    ) -> Result<(), Finding> {
        match likeness {
            // Servers read such a URI in several ways, and each has to lead to an open place.
            PathLikeness::Named if is_file_address(text) => {
                let readings = UriReadings::of(text.trim())?;
                readings.paths.iter().try_for_each(|path| {
                    self.protected.check(path, access)?;
                    self.roots.as_ref().map_or(Ok(()), |roots| roots.check_for(path, folders).map(drop))
                })
            }
            PathLikeness::Named => {
                // Some tools accept several paths in one text.
                let mut parts = text.split(is_between).filter(|part| !part.is_empty());
                parts.try_for_each(|part| self.protected.check(part, access))?;
                self.protected.check(text, access)?;
                self.roots.as_ref().map_or(Ok(()), |roots| roots.check_for(text, folders).map(drop))
            }
            PathLikeness::Written => {
                self.protected.check(text, access)?;
                self.roots.as_ref().map_or(Ok(()), |roots| roots.locate_named(text, folders).map(drop))
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
            let access = LazyCell::new(|| access(call.access, argument));
            argument.check(|text| match likeness(argument, text) {
                Some(likeness) => self.check_reading(text, likeness, *access, call.folders),
                None => Ok(()),
            })?;
        }
        Ok(())
    }
}

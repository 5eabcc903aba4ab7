//! The trait of validators, and the reasons for which they block a call.

use std::fmt;

use mgp_types::mgp::{CodeRejection, ValidatorName};

use super::call::{Located, ValidatedCall};
use crate::SchemaViolation;

/// A check of the arguments of a call, applied before the call is forwarded (MGP §4.5).
///
/// Third parties add their own validators under a name in reverse-domain notation.
///
/// ```
/// use mgp_security::Finding;
/// use mgp_security::validator::{BlockedCall, ValidatedCall, Validator};
/// use mgp_types::mgp::ValidatorName;
///
/// #[derive(Debug)]
/// struct NoDrafts(ValidatorName);
///
/// impl Validator for NoDrafts {
///     fn name(&self) -> &ValidatorName {
///         &self.0
///     }
///
///     fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
///         for argument in &call.arguments {
///             argument.check(|text| match text.starts_with("DRAFT") {
///                 true => Err(Finding::new("draft", "finish the text first")),
///                 false => Ok(()),
///             })?;
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Validator: fmt::Debug + Send + Sync + 'static {
    /// Returns the name by which tools require the validator.
    fn name(&self) -> &ValidatorName;

    /// Checks a call. The check must not wait for anything.
    ///
    /// # Errors
    /// Returns the reason why the call must not be forwarded.
    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall>;
}

/// The reason why a call is not forwarded.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BlockedCall {
    /// The arguments do not fit the schema of the tool.
    Schema(SchemaViolation),
    /// An argument has a value that the validator forbids.
    Argument(Located),
    /// The code among the arguments does something that its declared level forbids (§7.4).
    Code(Box<CodeRejection>),
}

impl<T: Into<Located>> From<T> for BlockedCall {
    fn from(located: T) -> Self {
        Self::Argument(located.into())
    }
}

use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::{CodeRejection, ValidatorName};

use super::call::{Located, ValidatedCall};

/// A check of the arguments of a call, applied before the call is forwarded (MGP §4.5).
///
/// Third parties add their own under a name in reverse-domain notation, and make new ones of those there are with
/// [`AllOf`](super::AllOf), [`AnyOf`](super::AnyOf) and [`Not`](super::Not).
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
    /// The name that tools ask for it by.
    fn name(&self) -> &ValidatorName;

    /// Looks at a call, without waiting for anything.
    ///
    /// # Errors
    /// Why the call is not to be forwarded.
    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall>;
}

/// Why a call is not forwarded.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BlockedCall {
    /// An argument says what it must not say.
    Argument(Located),
    /// Code among the arguments does what it must not do (§7.4).
    Code(Box<CodeRejection>),
}

impl<T: Into<Located>> From<T> for BlockedCall {
    fn from(located: T) -> Self {
        Self::Argument(located.into())
    }
}

impl<V: Validator + ?Sized> Validator for Arc<V> {
    fn name(&self) -> &ValidatorName {
        (**self).name()
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        (**self).check(call)
    }
}

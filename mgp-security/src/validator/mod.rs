//! Validators (MGP §4.5): checks of the arguments of a call, made before it is forwarded.
//!
//! [`ValidateGate`] checks each call with the [`Validators`] that the security of its tool requires. These come from
//! the specification or from third parties ([`Validator`]). The engines underneath can be used
//! alone: [`command`](crate::command) for shell commands, [`network`](crate::network) for addresses, and [`path`](crate::path) for files.

mod call;
mod effect;
mod gate;
mod prepared;
mod readonly;
mod standard;
#[cfg(test)]
mod tests;

pub use self::call::{BlockedCall, CallArgument, Located, ValidatedCall, Validator};
pub use self::gate::ValidateGate;
#[cfg(feature = "code-safety")]
pub use self::standard::CodeValidator;
pub use self::standard::{
    AddressesValidator, NetworkValidator, PathsValidator, ReadonlyValidator, SandboxValidator, Validators,
};

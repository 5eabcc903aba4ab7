//! The validators of the specification, as what they ask of each argument.

#[cfg(feature = "code-safety")]
mod code;
mod network;
mod paths;
mod readonly;
mod sandbox;

#[cfg(feature = "code-safety")]
pub use self::code::Code;
pub use self::network::Network;
pub use self::paths::Paths;
pub use self::readonly::Readonly;
pub use self::sandbox::Sandbox;

use mgp_types::mgp::ValidatorName;

use super::call::Call;
use super::validate::{Blocked, Validator};

/// `none`: the server looks after itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoCheck;

impl Validator for NoCheck {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::None
    }

    fn check(&self, _: &Call<'_>) -> Result<(), Blocked> {
        Ok(())
    }
}

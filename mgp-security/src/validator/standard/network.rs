use mgp_types::mgp::ValidatorName;

use crate::tool::Nature;
use crate::validator::call::Call;
use crate::validator::network::{NetworkPolicy, check_host, check_text, check_url};
use crate::validator::validate::{Blocked, Validator};

/// `network_restricted`: no argument leads to this host, its network, or a cloud's metadata.
#[derive(Debug, Clone, Default)]
pub struct Network {
    policy: NetworkPolicy,
}

impl Network {
    /// Holds calls to `policy`.
    pub fn new(policy: NetworkPolicy) -> Self {
        Self { policy }
    }
}

impl Validator for Network {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::NetworkRestricted
    }

    fn check(&self, call: &Call<'_>) -> Result<(), Blocked> {
        for argument in &call.arguments {
            argument.check(|text| match argument.nature {
                Nature::Url | Nature::Host if text.is_empty() => Ok(()),
                Nature::Url => check_url(text, &self.policy),
                Nature::Host => check_host(text, &self.policy),
                // Text for people is fetched by nobody, and may well speak of localhost.
                Nature::Text => Ok(()),
                _ => check_text(text, &self.policy),
            })?;
        }
        Ok(())
    }
}

use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::ValidatorName;

use crate::Finding;
use crate::tool::Nature;
use crate::validator::call::Call;
use crate::validator::network::{NetworkPolicy, check_host, check_text, check_url, is_network_scheme};
use crate::validator::validate::{Blocked, Validator};

/// `network_restricted`: no argument leads to this host, its network, or a cloud's metadata.
#[derive(Clone, Default)]
pub struct Network {
    policy: NetworkPolicy,
    owns: Option<Arc<dyn Fn(&str) -> bool + Send + Sync>>,
}

impl Network {
    /// Holds calls to `policy`.
    pub fn new(policy: NetworkPolicy) -> Self {
        Self { policy, owns: None }
    }

    /// Lets URIs through whose scheme is the server's own, as `owns` says: it lists resources under them, and nobody else
    /// can follow them. Schemes that name a host or a file are never one.
    #[must_use]
    pub fn with_own_schemes(mut self, owns: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.owns = Some(Arc::new(owns));
        self
    }

    fn check_url(&self, text: &str) -> Result<(), Finding> {
        match text.split_once(':').filter(|(scheme, _)| self.is_own(scheme)) {
            Some((_, rest)) => check_text(rest.trim_start_matches('/'), &self.policy),
            None => check_url(text, &self.policy),
        }
    }

    fn is_own(&self, scheme: &str) -> bool {
        let leads_out =
            is_network_scheme(scheme) || FILE_SCHEMES.iter().any(|own| own.eq_ignore_ascii_case(scheme));
        !leads_out && self.owns.as_ref().is_some_and(|owns| owns(scheme))
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
                Nature::Url => self.check_url(text),
                Nature::Host => check_host(text, &self.policy),
                // Text for people is fetched by nobody, and may well speak of localhost.
                Nature::Text => Ok(()),
                _ => check_text(text, &self.policy),
            })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// Schemes that programs read without a host.
const FILE_SCHEMES: [&str; 5] = ["file", "data", "javascript", "jar", "blob"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_is_the_servers_own_if_it_lists_resources_under_it_and_nobody_else_can_follow_it() {
        let network =
            Network::default().with_own_schemes(|scheme| ["memory", "file", "gopher"].contains(&scheme));
        assert!(network.check_url("memory://insights").is_ok());
        for url in
            ["other://insights", "file:///x", "gopher://example.com/", "memory://http://169.254.169.254/"]
        {
            assert!(network.check_url(url).is_err(), "{url}");
        }
        assert!(Network::default().check_url("memory://insights").is_err());
    }
}

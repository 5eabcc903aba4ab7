//! The policy of registrations.

use mgp_types::mgp::ServerId;
use mgp_types::{Principal, PrincipalRole, agent_family};

use super::registration_table::is_same;
use crate::config::model::RegistrationSettings;

/// The rules of who may register which servers. The default policy refuses every registration.
#[derive(Debug, Clone, Default)]
pub struct RegistrationPolicy {
    settings: RegistrationSettings,
    configured: Vec<ServerId>,
}

impl RegistrationPolicy {
    /// Creates the policy of `settings`, in which the ids of the `configured` servers are taken.
    ///
    /// An entry of `commands` that begins with `http://` or `https://` is not a program: a server may be registered at
    /// any address that begins so. No address is allowed otherwise.
    pub fn new(settings: &RegistrationSettings, configured: impl IntoIterator<Item = ServerId>) -> Self {
        Self { settings: settings.clone(), configured: configured.into_iter().collect() }
    }

    /// Returns whether `by` may register servers at all.
    pub fn admits(&self, by: &Principal) -> bool {
        by.role() == PrincipalRole::Operator
            || [Some(by.as_str()), agent_family(by.as_str())]
                .into_iter()
                .flatten()
                .any(|agent| self.settings.agents.iter().any(|known| known == agent))
    }

    pub(super) fn is_configured(&self, id: &ServerId) -> bool {
        self.configured.iter().any(|known| is_same(known, id))
    }

    pub(super) fn allows_program(&self, command: &str) -> bool {
        !is_web(command) && self.settings.commands.iter().any(|known| known == command)
    }

    pub(super) fn allows_variable(&self, name: &str) -> bool {
        self.settings.env.iter().any(|known| known == name)
    }

    /// Returns whether the address is a listed one, or lies below it: `https://host/a` holds for `https://host/a/b` and
    /// not for `https://host/ab`, and `https://host` not for `https://host.evil`.
    pub(super) fn allows_address(&self, url: &str) -> bool {
        self.settings.commands.iter().filter(|listed| is_web(listed)).any(|listed| {
            url.strip_prefix(listed.as_str())
                .is_some_and(|rest| rest.is_empty() || listed.ends_with('/') || rest.starts_with(['/', '?']))
        })
    }
}

pub(super) fn is_web(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

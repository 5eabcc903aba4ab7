//! The identity provider of `[listen.oauth]` by which people sign in, and who a person is by its tokens.

use std::io;
use std::sync::Arc;

use mgp_client_sdk::oauth::{ClientCredentials, WebClient};
use mgp_discovery::config::Secret;
use mgp_discovery::config::model::PageOauth;
use mgp_security::oauth::{ResourceServer, ResourceServerSettings};
use mgp_types::ext::scope::Scopes;
use mgp_types::{AgentGroups, Error, GroupMembership, Principal, code};

use crate::lifecycle::page_door::{PageHolder, PageRole};
use crate::listen::http::tokens;
use crate::settings;
use crate::settings::running::RunningConfig;

/// The identity provider at which people sign in.
pub(super) struct PageProvider {
    client: WebClient,
    page: PageOauth,
    running: Arc<RunningConfig>,
    tokens: ResourceServer,
    /// The groups with the members that tokens of people tell of; agents gain and lose nothing by those.
    groups: AgentGroups,
}

impl PageProvider {
    /// Returns the provider that the configuration names; `None` if it names none.
    ///
    /// # Errors
    /// The configuration leads nowhere.
    pub(super) fn of(running: &Arc<RunningConfig>) -> io::Result<Option<Self>> {
        let config = running.load_full();
        let (Some(page), Some(accepted)) = (&config.ui.oauth, &config.listen.oauth) else { return Ok(None) };
        let wrong = |why: String| io::Error::other(format!("`ui.oauth`: {why}"));
        let mut issuers = accepted.issuers.iter();
        let issuer = issuers.find(|known| page.issuer.as_ref().is_none_or(|named| *named == known.issuer));
        let issuer = issuer.ok_or_else(|| wrong("no tokens of this issuer are accepted".to_owned()))?;
        let secret = page.expanded_secret(&running.accepted).map_err(|fault| wrong(fault.to_string()))?;
        let (id, groups) = (page.client_id.as_str(), AgentGroups::default());
        let client = WebClient {
            fetcher: tokens::fetcher(accepted).map_err(wrong)?,
            issuer: issuer.issuer.as_str().into(),
            credentials: match &secret {
                Some(secret) => ClientCredentials::with_secret(id, secret.expose()),
                None => ClientCredentials::public(id),
            },
            resource: config.listen.public_url.as_deref().unwrap_or_default().into(),
            scopes: accepted.scopes.iter().chain(&page.scopes).map(|scope| scope.as_str().into()).collect(),
        };
        let judged = ResourceServerSettings {
            issuers: vec![tokens::issuer(issuer, &running.accepted).map_err(wrong)?],
            required_scopes: Scopes::read(&accepted.scopes).map_err(|error| wrong(error.to_string()))?,
            // No other operator has such a name.
            principals: Box::new(|issuer, subject| {
                tokens::unlisted_agent(issuer, subject).map(Principal::operator)
            }),
            groups: groups.clone(),
            ..ResourceServerSettings::default()
        };
        let tokens = ResourceServer::new(&client.resource, judged, &client.fetcher);
        let tokens = tokens.map_err(|error| wrong(error.to_string()))?;
        Ok(Some(Self { client, page: page.clone(), running: Arc::clone(running), tokens, groups }))
    }

    /// The address of the issuer, without `https://`, as the login page shows it.
    pub(super) fn name(&self) -> &str {
        self.client.issuer.trim_start_matches("https://")
    }

    /// Returns the address at which a login begins, and what this kernel verifies its end by.
    pub(super) async fn begin(&self, redirect_uri: &str) -> Result<(String, String), Error> {
        Ok(self.client.page(redirect_uri).await?)
    }

    /// Exchanges the provider's answer, which the browser brings, for the token of the person.
    pub(super) async fn token(
        &self,
        redirect_uri: &str,
        verifier: &str,
        answer: &str,
    ) -> Result<Secret, Error> {
        Ok(Secret::from(self.client.token(redirect_uri, verifier, answer).await?.into_string()))
    }

    /// Returns who comes with a token, by the groups that there are now.
    ///
    /// # Errors
    /// The token does not hold, or the page is for no group of its holder.
    pub(super) async fn holder(&self, token: &Secret) -> Result<PageHolder, Error> {
        let refused = |why: String| Error::new(code::PERMISSION_DENIED, why);
        self.groups.set(settings::groups(&self.running.load()));
        let by = self.tokens.holder(token.expose()).await;
        let by =
            by.map_err(|error| refused(format!("the identity provider's answer is of no use: {error}")))?;
        let groups = self.groups.of(by.as_str());
        let role = role(&self.page, groups.as_deref().unwrap_or_default());
        let stranger = || refused(format!("{} is in no group that this page is for", by.as_str()));
        let role = role.ok_or_else(stranger)?;
        Ok(PageHolder { by, role })
    }
}

/// Returns the role of a member of these groups.
fn role(page: &PageOauth, groups: &[GroupMembership]) -> Option<PageRole> {
    let is_in = |named: &[String]| groups.iter().any(|of| named.iter().any(|name| name == of.group.as_str()));
    if is_in(&page.operators) {
        return Some(PageRole::Proved);
    }
    is_in(&page.auditors).then_some(PageRole::Auditor)
}

#[cfg(test)]
mod tests {
    use mgp_types::AgentGroup;

    use super::*;

    #[test]
    fn a_member_of_both_groups_is_an_operator_and_a_stranger_has_no_role() {
        let page = r#"{"client_id":"c","operators":["@admins"],"auditors":["@office","@others"]}"#;
        let page: PageOauth = serde_json::from_str(page).unwrap();
        let groups = AgentGroups::default();
        let group = |name: &str, agents: &[&str]| {
            let mut group = AgentGroup { name: name.to_owned(), ..AgentGroup::default() };
            group.agents = agents.iter().map(|agent| (*agent).to_owned()).collect();
            group
        };
        groups.set(vec![
            group("office", &["ada", "bob"]),
            group("admins", &["ada", "eve"]),
            group("admins2", &["mallory"]),
        ]);
        let role = |agent: &str| role(&page, groups.of(agent).as_deref().unwrap_or_default());
        assert_eq!(role("ada"), Some(PageRole::Proved));
        assert_eq!(role("bob"), Some(PageRole::Auditor));
        assert_eq!(role("eve"), Some(PageRole::Proved));
        assert_eq!(role("mallory"), None);
        assert_eq!(role("nobody"), None);
    }
}

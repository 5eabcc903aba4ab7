//! Checks of the tables of authorization.

use std::collections::BTreeSet;

use url::Url;

use super::super::model::{AgentToken, Config, ListenOauth, ServerConfig, ServerGrant, ServerOauth, Sharing};
use super::super::source::{FileProblems, ValuePath};

impl FileProblems<'_> {
    /// Checks `[listen.tls]`, `[listen.oauth]` and the tokens of agents.
    pub(super) fn authorization(&mut self, config: &Config) {
        let listen = ValuePath::default().key("listen");
        if let Some(url) = &config.listen.public_url
            && !is_public_url(url)
        {
            let instead = "write an address such as `https://mgp.example/mcp`, without query and fragment";
            self.error(&listen.key("public_url"), "this is not an address that tokens can be for", instead);
        }
        if let Some(tls) = &config.listen.tls {
            for (key, path) in [("certificate", &tls.certificate), ("key", &tls.key)] {
                if path.is_empty() {
                    let place = listen.key("tls").key(key);
                    self.error(&place, format!("`{key}` is empty"), "write the path of a file in PEM");
                }
            }
        }
        let mut known = BTreeSet::new();
        if let Some(oauth) = &config.listen.oauth {
            let place = listen.key("oauth");
            if config.listen.public_url.is_none() {
                let instead = "write `public_url = \"https://…/mcp\"` under `[listen]`: the address at which clients reach \
                               this kernel, for which their tokens are issued";
                self.error(&place, "tokens need an audience", instead);
            }
            self.issuers(oauth, &place);
            known.extend(oauth.issuers.iter().map(|issuer| issuer.issuer.as_str()));
        }
        let mut taken = BTreeSet::new();
        for (index, agent) in config.agents.iter().enumerate() {
            for (at, token) in agent.tokens.iter().enumerate() {
                let place = ValuePath::default().key("agents").index(index).key("tokens").index(at);
                let AgentToken { issuer, subject } = token;
                if subject.is_empty() {
                    self.error(&place, "this token has no subject", "write the `sub` that the issuer gives");
                } else if !known.contains(issuer.as_str()) {
                    let instead = "write an issuer exactly as `listen.oauth.issuers` has it";
                    self.error(&place.key("issuer"), "tokens of this issuer are not accepted", instead);
                } else if !taken.insert(token) {
                    let instead = "keep the entry of one agent";
                    self.error(&place, "another agent comes with this token, too", instead);
                }
            }
        }
        self.page_login(config, &known);
    }

    /// Checks `[ui.oauth]`, where tokens of `issuers` are accepted.
    fn page_login(&mut self, config: &Config, issuers: &BTreeSet<&str>) {
        let Some(oauth) = &config.ui.oauth else { return };
        let place = ValuePath::default().key("ui").key("oauth");
        if !oauth.issuer.as_deref().map_or(issuers.len() == 1, |issuer| issuers.contains(issuer)) {
            let instead = "write an `issuer` exactly as `listen.oauth.issuers` has it";
            self.error(&place, "people sign in at an issuer whose tokens are accepted", instead);
        }
        self.template(oauth.client_secret.as_deref().unwrap_or_default(), &place.key("client_secret"));
        self.scopes(&oauth.scopes, &place.key("scopes"));
        for (key, groups) in [("operators", &oauth.operators), ("auditors", &oauth.auditors)] {
            for (at, group) in groups.iter().enumerate() {
                if !config.group_names().any(|name| group.strip_prefix('@') == Some(name)) {
                    let instead = "write `@name` for a group under `[[groups]]`";
                    self.error(&place.key(key).index(at), format!("there is no group `{group}`"), instead);
                }
            }
        }
    }

    fn issuers(&mut self, oauth: &ListenOauth, place: &ValuePath) {
        self.scopes(&oauth.scopes, &place.key("scopes"));
        if oauth.issuers.is_empty() {
            let instead = "write `issuers = [{ issuer = \"https://…\" }]`, or remove the table";
            self.error(place, "no issuer's tokens are accepted", instead);
        }
        let mut seen = BTreeSet::new();
        let mut is_one_asked = false;
        for (index, issuer) in oauth.issuers.iter().enumerate() {
            let place = place.key("issuers").index(index);
            if !is_public_url(&issuer.issuer) {
                let instead =
                    "write it exactly as the identity provider names itself, such as `https://id.example`";
                self.error(&place.key("issuer"), "this is not an issuer", instead);
            } else if !seen.insert(&issuer.issuer) {
                self.error(&place.key("issuer"), "this issuer is named twice", "keep one of the entries");
            }
            for (at, algorithm) in issuer.algorithms.iter().enumerate() {
                if !ALGORITHMS.contains(&algorithm.as_str()) {
                    let instead = format!("write one of {}", ALGORITHMS.join(", "));
                    let place = place.key("algorithms").index(at);
                    self.error(&place, "tokens are not signed by this algorithm here", instead);
                }
            }
            if let Some(introspection) = &issuer.introspection {
                let place = place.key("introspection");
                self.url(&introspection.url, &place.key("url"));
                self.template(&introspection.client_secret, &place.key("client_secret"));
                if std::mem::replace(&mut is_one_asked, true) {
                    let instead = "keep one `introspection`; let the others issue signed tokens";
                    let what = "a token that says nothing itself would be shown to two issuers";
                    self.error(&place, what, instead);
                }
            }
        }
    }

    /// Checks `[servers.oauth]`.
    pub(super) fn server_oauth(&mut self, server: &ServerConfig, place: &ValuePath) {
        let Some(oauth) = &server.oauth else { return };
        let place = &place.key("oauth");
        if server.url.is_none() {
            self.error(place, "only servers with a `url` can be authorized at", "remove the table");
        }
        if server.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
            let instead = "remove the header `Authorization`, or the table `oauth`";
            self.error(place, "the server has a header `Authorization` as well", instead);
        }
        if let Some(url) = &oauth.issuer {
            self.url(url, &place.key("issuer"));
        }
        self.credentials(oauth, place);
        self.grant(server, oauth, place);
    }

    /// Checks that there is what a grant shows the issuer.
    fn grant(&mut self, server: &ServerConfig, oauth: &ServerOauth, place: &ValuePath) {
        let is_by_file = oauth.grant == ServerGrant::WorkloadIdentity;
        if is_by_file && oauth.token_file.is_none() {
            let instead = "write the path of the platform's token as `token_file`";
            self.error(&place.key("grant"), "this grant needs a token of the platform", instead);
        }
        if !is_by_file && oauth.token_file.is_some() {
            let instead = "remove it, or write `grant = \"workload_identity\"`";
            self.error(&place.key("token_file"), "this grant reads no token", instead);
        }
        if matches!(oauth.grant, ServerGrant::Login | ServerGrant::ClientCredentials) {
            return;
        }
        if oauth.issuer.is_none() {
            let instead = "write the `issuer` that may see the token which is exchanged";
            self.error(&place.key("grant"), "a token is shown to no issuer that is not named here", instead);
        }
        if oauth.client_id.is_none() {
            let instead = "write the `client_id` by which the issuer knows the kernel";
            self.error(&place.key("grant"), "this grant needs a client that the issuer knows", instead);
        }
        if !is_by_file && server.sharing != Some(Sharing::Agent) && !server.only_for_its_agents() {
            let instead = "write `sharing = \"agent\"` in the server's entry";
            let what = "the token of one agent must not serve others";
            self.error(&place.key("grant"), what, instead);
        }
    }

    fn credentials(&mut self, oauth: &ServerOauth, place: &ValuePath) {
        let has_proof = oauth.client_secret.is_some() || oauth.private_key.is_some();
        if oauth.client_secret.is_some() && oauth.private_key.is_some() {
            let instead = "keep `client_secret` or `private_key`";
            self.error(place, "the kernel can prove its `client_id` in one way only", instead);
        }
        if has_proof && oauth.client_id.is_none() {
            self.error(place, "a secret or key belongs to a `client_id`", "write the `client_id`");
        }
        let is_of_kernel = matches!(oauth.grant, ServerGrant::Login | ServerGrant::ClientCredentials);
        if oauth.client_secret.is_some() && oauth.issuer.is_none() && is_of_kernel {
            let instead = "write the `issuer` to which the secret belongs";
            let what =
                "a secret is shown to no issuer that is not named here: the server could name another one";
            self.error(&place.key("client_secret"), what, instead);
        }
        if oauth.grant == ServerGrant::ClientCredentials && !has_proof {
            let instead =
                "write `client_id` and `client_secret` or `private_key`, or use `grant = \"login\"`";
            self.error(&place.key("grant"), "this grant needs credentials of the kernel", instead);
        }
    }
}

/// Returns whether tokens can be for an address, or from it: HTTPS, or HTTP on this machine, without query and fragment.
fn is_public_url(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_own = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => return false,
    };
    let is_encrypted = url.scheme() == "https" || url.scheme() == "http" && is_own;
    is_encrypted && url.query().is_none() && url.fragment().is_none() && url.username().is_empty()
}

/// The algorithms by which tokens are signed with a private key.
const ALGORITHMS: [&str; 9] =
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

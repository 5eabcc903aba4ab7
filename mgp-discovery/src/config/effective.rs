//! Defaults and other values that follow from settings that were left out.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use mgp_types::agent_family;
use mgp_types::mgp::{DefaultPolicy, Glob, TrustLevel};
use serde::{Deserialize, Serialize};
use url::Url;

use super::model::{AgentSettings, Config, Instances, ListenSettings, PageSettings, ServerConfig, Sharing};

/// A text that is not an address to listen at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{written}` is not an address to listen at; write {instead}")]
#[non_exhaustive]
pub struct InvalidAddress {
    written: String,
    /// The address to write instead.
    pub(super) instead: String,
}

/// The port for HTTP if none is set.
const PORT: u16 = 7332;
/// The port of the page if its address has none.
const PAGE_PORT: u16 = 7333;

impl ListenSettings {
    /// Returns where to listen for HTTP, if at all, at port 7332 if none is written. `localhost` is understood; other
    /// names may be those of several hosts.
    pub fn address(&self) -> Result<Option<SocketAddr>, InvalidAddress> {
        self.http.as_deref().map(|written| address(written, PORT)).transpose()
    }

    /// Returns whether clients over HTTP need keys or tokens: they do off the loopback address, and where the settings
    /// ask for keys or accept tokens.
    pub fn keys_required(&self) -> bool {
        let beyond = |address| !is_loopback(address);
        // An address that cannot be read gives nothing away.
        self.require_keys
            || self.oauth.is_some()
            || self.address().map_or(true, |address| address.is_some_and(beyond))
    }

    /// Returns the hosts by which clients may name the kernel besides its address: those that are allowed, and the one of the
    /// URL at which clients reach it.
    pub fn hosts(&self) -> Vec<String> {
        let public = self.public_url.as_deref().and_then(|url| Url::parse(url).ok());
        let public = public.and_then(|url| url.host_str().map(str::to_owned));
        self.allowed_hosts.iter().cloned().chain(public).collect()
    }
}

impl PageSettings {
    /// Returns where to serve the page: at any free port of the loopback address if nothing is written, and at port 7333 if no
    /// port is.
    pub fn address(&self) -> Result<SocketAddr, InvalidAddress> {
        let Some(written) = &self.listen else { return Ok((Ipv4Addr::LOCALHOST, 0).into()) };
        address(written, PAGE_PORT)
    }
}

/// Returns whether only this machine reaches an address.
pub(super) fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Reads an address to listen at, at this port if it has none.
fn address(written: &str, port: u16) -> Result<SocketAddr, InvalidAddress> {
    if let Ok(address) = written.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let written = if written == "localhost" { &format!("localhost:{port}") } else { written };
    let numbers = written.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numbers.as_deref().unwrap_or(written).parse().map_err(|_| {
        let port = written.rsplit(':').next().and_then(|port| port.parse::<u16>().ok()).unwrap_or(port);
        let instead = format!("`127.0.0.1:{port}`, or `0.0.0.0:{port}` for every interface");
        InvalidAddress { written: written.to_owned(), instead }
    })
}

/// The variables for proxies and certificates, which a program in a network with either needs to reach any host. The
/// variables that single runtimes read for this purpose are listed too. Each stands on a line.
const PASSED: &str = include_str!("pass_env.txt");

/// Returns whether a variable, in any case, leads programs to a proxy or to certificates.
pub(crate) fn is_passed_on(variable: &str) -> bool {
    PASSED.lines().any(|name| name.eq_ignore_ascii_case(variable))
}

impl Config {
    /// Returns the decision for calls to which no access rule applies.
    pub fn default_policy(&self) -> DefaultPolicy {
        let unsaid = if self.listen.keys_required() { DefaultPolicy::OptIn } else { DefaultPolicy::OptOut };
        self.access.default.unwrap_or(unsaid)
    }

    /// Returns whether the servers of the configuration are given this variable of the kernel's environment.
    ///
    /// The kernel's own variables, one of which proves who operates it, are given to no server. A pattern with `!` in
    /// front takes precedence over every pattern without one.
    pub fn passes_variable(&self, name: &str) -> bool {
        let names = |pattern: &str| Glob::new(pattern).matches(name);
        let withheld = self.pass_env.iter().filter_map(|pattern| pattern.strip_prefix('!'));
        if name.starts_with("MGP_") || withheld.into_iter().any(names) {
            return false;
        }
        PASSED.lines().any(|passed| passed == name) || self.pass_env.iter().any(|pattern| names(pattern))
    }

    /// Returns the server with this id.
    pub fn server(&self, id: &str) -> Option<&ServerConfig> {
        self.servers.iter().find(|server| server.id == id)
    }

    /// Returns the names of the groups.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|group| group.name.as_str())
    }

    /// Returns the settings of this agent, or else those of its family: `local` for all clients of the user.
    pub fn agent(&self, id: &str) -> Option<&AgentSettings> {
        let named = |id: &str| self.agents.iter().find(|agent| agent.id == id);
        named(id).or_else(|| named(agent_family(id)?))
    }
}

/// The reach of a server's program: the files and connections that are open to it on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Its package, folders of its own, and what its permissions and its entry name.
    Own,
    /// The same, the system's files, the folders of its clients and of its entry, and the network.
    Folders,
    /// All that the account of the kernel reaches.
    All,
}

impl Reach {
    /// Returns the word by which `mgp servers` shows this reach.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Folders => "folders",
            Self::All => "all",
        }
    }
}

/// The programs that start containers, which confine their programs themselves.
const CONTAINERS: [&str; 2] = ["docker", "podman"];

impl ServerConfig {
    /// Returns the trust in the server. The operator decides, for `standard` if nothing is set; a declaration under
    /// `mgp`, in the file or by the server itself, can only lower the level.
    pub fn trust(&self) -> TrustLevel {
        let granted = self.security.trust_level.unwrap_or(TrustLevel::Standard);
        let declared = self.mgp.as_ref().and_then(|mgp| mgp.trust_level);
        declared.map_or(granted, |declared| granted.stricter(declared))
    }

    /// Returns whether a rule under `tools` switches the tool off.
    pub fn has_off(&self, tool: &str) -> bool {
        self.tools.iter().any(|(name, rule)| !rule.enabled && Glob::new(name.as_str()).matches(tool))
    }

    /// Returns whether the server's program has to be confined by the system, and is not started where it cannot be.
    pub fn is_confined(&self) -> bool {
        let is_sandboxed = || self.command.is_some() && self.trust() == TrustLevel::Sandboxed;
        self.confine.unwrap_or_else(|| self.confinement.is_some() || is_sandboxed())
    }

    /// Returns the reach that the entry gives the server's program.
    pub fn reach(&self) -> Reach {
        let is_container = || self.command.as_deref().is_some_and(|command| CONTAINERS.contains(&command));
        match &self.confinement {
            _ if self.command.is_none() || self.confine == Some(false) => Reach::All,
            Some(confinement) if confinement.folders => Reach::Folders,
            _ if self.is_confined() => Reach::Own,
            _ if is_container() => Reach::All,
            _ => Reach::Folders,
        }
    }

    /// Returns whether one of several kernels runs the server's program for all of them.
    pub fn runs_once(&self) -> bool {
        self.command.is_some() && self.instances != Some(Instances::Each)
    }

    /// Returns whether agents have connections of their own, so that no other agent reaches the server.
    pub fn only_for_its_agents(&self) -> bool {
        !self.agents.is_empty()
    }

    /// Returns whether each agent signs in to the server for itself.
    pub fn has_logins_of_agents(&self) -> bool {
        self.sharing == Some(Sharing::Agent) || self.only_for_its_agents()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening(http: &str) -> ListenSettings {
        ListenSettings { http: Some(http.into()), ..ListenSettings::default() }
    }

    #[test]
    fn what_is_sandboxed_or_has_a_confinement_is_confined_unless_it_is_said_not_to_be() {
        let confined = |json: &str| serde_json::from_str::<ServerConfig>(json).unwrap().is_confined();
        assert!(!confined(r#"{"command":"a"}"#) && confined(r#"{"command":"a","confine":true}"#));
        assert!(confined(r#"{"command":"a","confinement":{}}"#));
        assert!(confined(r#"{"command":"a","security":{"trust_level":"sandboxed"}}"#));
        assert!(!confined(r#"{"command":"a","confine":false,"security":{"trust_level":"sandboxed"}}"#));
        assert!(!confined(r#"{"url":"http://a.example","security":{"trust_level":"sandboxed"}}"#));
    }

    #[test]
    fn programs_reach_folders_and_the_network_unless_more_or_less_is_said() {
        let reach = |json: &str| serde_json::from_str::<ServerConfig>(json).unwrap().reach();
        for (json, expected) in [
            (r#"{"command":"a"}"#, Reach::Folders),
            (r#"{"command":"a","confinement":{"folders":true,"write":["~/.a"]}}"#, Reach::Folders),
            (r#"{"command":"a","confine":true}"#, Reach::Own),
            (r#"{"command":"a","confinement":{"connect":[443]}}"#, Reach::Own),
            (r#"{"command":"a","security":{"trust_level":"sandboxed"}}"#, Reach::Own),
            (r#"{"command":"a","confine":false}"#, Reach::All),
            (r#"{"command":"docker"}"#, Reach::All),
            (r#"{"url":"http://a.example"}"#, Reach::All),
        ] {
            assert_eq!(reach(json), expected, "{json}");
        }
    }

    #[test]
    fn keys_are_required_beyond_the_loopback_address() {
        for (http, required) in [
            ("127.0.0.1:7332", false),
            ("localhost:7332", false),
            ("[::1]:7332", false),
            ("[::ffff:127.0.0.1]:7332", false),
            ("0.0.0.0:7332", true),
            ("192.168.1.1:7332", true),
            ("no address", true),
        ] {
            assert_eq!(listening(http).keys_required(), required, "{http}");
        }
        assert!(!ListenSettings::default().keys_required());
        assert!(ListenSettings { require_keys: true, ..ListenSettings::default() }.keys_required());
    }

    #[test]
    fn an_address_without_a_port_has_the_usual_one() {
        for (http, address) in [
            ("0.0.0.0", "0.0.0.0:7332"),
            ("localhost", "127.0.0.1:7332"),
            ("::1", "[::1]:7332"),
            ("[::]", "[::]:7332"),
            ("10.0.0.1:80", "10.0.0.1:80"),
        ] {
            assert_eq!(listening(http).address().unwrap().unwrap().to_string(), address);
        }
    }

    #[test]
    fn the_page_is_at_the_loopback_address_unless_another_is_written() {
        let page = |listen: Option<&str>| {
            let settings = PageSettings { listen: listen.map(str::to_owned), ..PageSettings::default() };
            settings.address().unwrap().to_string()
        };
        assert_eq!([page(None), page(Some("0.0.0.0"))], ["127.0.0.1:0", "0.0.0.0:7333"]);
    }

    #[test]
    fn an_address_that_is_none_says_what_to_write() {
        for http in ["7332", ":7332", "example.com:7332", "http://127.0.0.1:7332", ""] {
            let error = listening(http).address().unwrap_err().to_string();
            assert!(error.contains("write `127.0.0.1:7332`"), "{error}");
        }
    }

    #[test]
    fn who_needs_keys_is_let_nowhere_unless_a_rule_says_so() {
        let mut config = Config::default();
        assert_eq!(config.default_policy(), DefaultPolicy::OptOut);
        config.listen = listening("0.0.0.0:1");
        assert_eq!(config.default_policy(), DefaultPolicy::OptIn);
        config.access.default = Some(DefaultPolicy::OptOut);
        assert_eq!(config.default_policy(), DefaultPolicy::OptOut);
    }

    #[test]
    fn proxies_and_certificates_pass_and_others_by_name_or_pattern() {
        let passing = |patterns: &[&str]| {
            let pass_env = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
            let config = Config { pass_env, ..Config::default() };
            let names = ["https_proxy", "SSL_CERT_FILE", "CORP_A", "CORP_B", "TOKEN", "MGP_OPERATORS_TOKEN"];
            names.into_iter().filter(|name| config.passes_variable(name)).collect::<Vec<_>>()
        };
        assert_eq!(passing(&[]), ["https_proxy", "SSL_CERT_FILE"]);
        assert_eq!(passing(&["CORP_*", "!CORP_B"]), ["https_proxy", "SSL_CERT_FILE", "CORP_A"]);
        assert_eq!(passing(&["TOKEN", "!*_proxy"]), ["SSL_CERT_FILE", "TOKEN"]);
        assert_eq!(passing(&["*"]), ["https_proxy", "SSL_CERT_FILE", "CORP_A", "CORP_B", "TOKEN"]);
    }

    // covers: MGP-15.2-12
    #[test]
    fn a_declared_level_of_trust_only_lowers_what_the_operator_says() {
        use TrustLevel::{Sandboxed, Standard, Trusted};
        for (granted, declared, effective) in [
            (None, None, Standard),
            (None, Some(Trusted), Standard),
            (None, Some(Sandboxed), Sandboxed),
            (Some(Trusted), None, Trusted),
            (Some(Trusted), Some(Standard), Standard),
            (Some(Sandboxed), Some(Trusted), Sandboxed),
        ] {
            let mut server = ServerConfig::default();
            server.security.trust_level = granted;
            server.mgp = declared.map(|level| super::super::model::ServerMgp {
                trust_level: Some(level),
                ..Default::default()
            });
            assert_eq!(server.trust(), effective, "{granted:?} {declared:?}");
        }
    }
}

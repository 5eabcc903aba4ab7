//! The policy that says which hosts and schemes calls may reach.

use std::net::IpAddr;

use url::Host;

use crate::Finding;

use super::HostPattern;
use super::host::{self, NonPublicReason, reached};

/// A policy of the network targets that calls may reach. The default allows the public network, over HTTP and
/// WebSocket.
///
/// Denied hosts are decided first and are always refused. An allowed host passes even if it, or the addresses of its
/// name, are not public. Metadata services of clouds stay refused even then, unless the address itself is allowed, and
/// not only a network or a wildcard that contains it.
///
/// ```
/// use mgp_security::network::{NetworkPolicy, check_url};
///
/// let policy = NetworkPolicy::default()
///     .allow_host("build.internal".parse()?)
///     .deny_host("*.example.net".parse()?);
/// assert!(check_url("https://build.internal/", &policy).is_ok());
/// assert!(check_url("https://other.internal/", &policy).is_err());
/// assert!(check_url("https://www.example.net/", &policy).is_err());
/// # Ok::<(), mgp_security::network::InvalidHostPattern>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct NetworkPolicy {
    allowed: Vec<HostPattern>,
    denied: Vec<HostPattern>,
    /// True if hosts that no pattern names are refused, public ones included.
    only_allowed: bool,
    /// True if the addresses of this machine are allowed.
    loopback: bool,
    /// The server whose calls the policy applies to.
    server: Option<Box<str>>,
}

impl NetworkPolicy {
    mgp_types::setters! { self =>
        /// Allows `host` even if it is not public.
        pub fn allow_host(host: HostPattern) => self.allowed.push(host);

        /// Denies `host`, whatever the other settings say.
        pub fn deny_host(host: HostPattern) => self.denied.push(host);

        /// Refuses every host that is not explicitly allowed, public ones included.
        pub fn only_allowed_hosts() => self.only_allowed = true;

        /// Allows `localhost`, the names below it and the addresses of this machine, at any port.
        pub fn allow_loopback() => self.loopback = true;

        /// Sets the server whose calls the policy applies to, so that refusals name the line of the configuration that
        /// would allow a host.
        pub fn for_server(id: &str) => self.server = Some(id.into());
    }

    /// Allows the host of a URL even if it is not public, at the port of the URL. For a host of this machine, all of its
    /// ports are allowed: what belongs together on one machine has a port each. A text that is no URL allows nothing.
    pub fn allow_host_of(self, url: &str) -> Self {
        let Ok(url) = url::Url::parse(url) else { return self };
        let is_this_machine = match url.host() {
            Some(Host::Domain(name)) => is_localhost(name),
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => return self,
        };
        if is_this_machine {
            return self.allow_loopback();
        }
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default());
        match port.and_then(|port| format!("{host}:{port}").parse().ok()) {
            Some(host) => self.allow_host(host),
            None => self,
        }
    }

    pub(super) fn has_scheme(scheme: &str) -> bool {
        SCHEMES.iter().any(|allowed| allowed.eq_ignore_ascii_case(scheme))
    }

    /// Checks a host as a URL names it, at a port; `None` is an unknown port.
    pub(super) fn judge_host(&self, host: &Host<String>, port: Option<u16>) -> Result<(), Finding> {
        let name = match host {
            Host::Domain(name) => name,
            Host::Ipv4(ip) => return self.judge_address(IpAddr::V4(*ip), port),
            Host::Ipv6(ip) => return self.judge_address(IpAddr::V6(*ip), port),
        };
        let judged = match self.listed(|pattern| pattern.covers_name(name), port) {
            Ok(false) if self.loopback && is_localhost(name) => Ok(()),
            Ok(false) => host::check(name),
            listed => listed.map(drop),
        };
        judged.map_err(|finding| self.with_way(finding, host, port))
    }

    pub(super) fn judge_address(&self, ip: IpAddr, port: Option<u16>) -> Result<(), Finding> {
        let judged = match self.listed(|pattern| pattern.covers_address(ip), port) {
            Ok(false) => self.barrier(ip).map_or(Ok(()), |barrier| Err(barrier.finding())),
            listed => listed.map(drop),
        };
        let host = match reached(ip) {
            IpAddr::V4(ip) => Host::Ipv4(ip),
            IpAddr::V6(ip) => Host::Ipv6(ip),
        };
        judged.map_err(|finding| self.with_way(finding, &host, port))
    }

    /// Checks an address that `host`, which was checked before, resolved to.
    pub(super) fn judge_resolved(&self, host: &Host<String>, ip: IpAddr, port: u16) -> Result<(), Finding> {
        let port = Some(port);
        if self.denied.iter().any(|pattern| pattern.may_have_port(port) && pattern.covers_address(ip)) {
            return Err(denied());
        }
        let is_allowed = |covers: &dyn Fn(&HostPattern) -> bool| {
            self.allowed.iter().any(|pattern| pattern.has_port(port) && covers(pattern))
        };
        if is_allowed(&|pattern| pattern.covers_address(ip)) {
            return Ok(());
        }
        let named = matches!(host, Host::Domain(name) if is_allowed(&|pattern| pattern.covers_name(name)));
        match self.barrier(ip) {
            None => Ok(()),
            Some(barrier) if named && barrier != NonPublicReason::Metadata => Ok(()),
            Some(barrier) => Err(self.with_way(barrier.finding(), host, port)),
        }
    }

    /// Returns the reason why an address that no pattern names is refused, if there is one.
    fn barrier(&self, ip: IpAddr) -> Option<NonPublicReason> {
        let is_own = |barrier| matches!(barrier, NonPublicReason::Loopback | NonPublicReason::Unspecified);
        NonPublicReason::of(ip).filter(|barrier| !(self.loopback && is_own(*barrier)))
    }

    /// Returns whether the lists allow a host; a denied host is an error.
    fn listed(&self, covers: impl Fn(&HostPattern) -> bool, port: Option<u16>) -> Result<bool, Finding> {
        if self.denied.iter().any(|pattern| pattern.may_have_port(port) && covers(pattern)) {
            return Err(denied());
        }
        let is_allowed = self.allowed.iter().any(|pattern| pattern.has_port(port) && covers(pattern));
        if self.only_allowed && !is_allowed {
            let why = "only certain hosts may be reached, and this is none of them";
            return Err(Finding::new("host-not-allowed", why));
        }
        Ok(is_allowed)
    }

    /// Adds the line of the configuration that would allow the host to a finding, if there is such a line.
    fn with_way(&self, finding: Finding, host: &Host<String>, port: Option<u16>) -> Finding {
        if NEVER_OPENED.contains(&finding.rule) {
            return finding;
        }
        let written = host.to_string();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "[:].-_".contains(letter);
        if !written.chars().all(is_plain) {
            return finding;
        }
        let port = port.map_or_else(|| "*".to_owned(), |port| port.to_string());
        let id = self.server.as_deref();
        let whose = id.map_or_else(|| "of the server".to_owned(), |id| format!("of the server `{id}`"));
        let message = format!(
            "{}; `[servers.network] allow = [\"{written}:{port}\"]` in the table {whose} in `mgp.toml` lets it through",
            finding.message
        );
        Finding::new(finding.rule, message)
    }
}

/// Returns whether the name belongs to this machine by definition, so that no resolver decides where it leads.
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

fn denied() -> Finding {
    Finding::new("denied-host", "the host may not be reached: use another source")
}

/// Returns whether URIs of the scheme name a network host, to which programs connect.
#[cfg(feature = "validate")]
pub(crate) fn is_network_scheme(scheme: &str) -> bool {
    host::LISTS["network schemes"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// The schemes of URLs that may be used.
const SCHEMES: [&str; 4] = ["https", "http", "wss", "ws"];

/// The rules whose refusals never name a line of the configuration: the operator denied the host, or no honest call
/// goes there.
const NEVER_OPENED: &[&str] = &["denied-host", "metadata-endpoint", "rebinding-host"];

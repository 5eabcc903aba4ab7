//! The policy that says which hosts and schemes calls may reach, and its patterns of hosts and ports.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::Host;

use super::host::{self, NonPublicReason, is_metadata_name, reached};
use crate::Finding;

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
        if self.named(|pattern| pattern.covers_address(ip), port)? {
            return Ok(());
        }
        let named =
            matches!(host, Host::Domain(name) if self.allows(|pattern| pattern.covers_name(name), port));
        let barrier = self.barrier(ip).filter(|barrier| !named || *barrier == NonPublicReason::Metadata);
        barrier.map_or(Ok(()), |barrier| Err(self.with_way(barrier.finding(), host, port)))
    }

    /// Returns the reason why an address that no pattern names is refused, if there is one.
    fn barrier(&self, ip: IpAddr) -> Option<NonPublicReason> {
        let is_own = |barrier| matches!(barrier, NonPublicReason::Loopback | NonPublicReason::Unspecified);
        NonPublicReason::of(ip).filter(|barrier| !(self.loopback && is_own(*barrier)))
    }

    /// Returns whether an allowed pattern covers a host.
    fn allows(&self, covers: impl Fn(&HostPattern) -> bool, port: Option<u16>) -> bool {
        self.allowed.iter().any(|pattern| pattern.has_port(port) && covers(pattern))
    }

    /// Returns whether an allowed pattern covers a host; a denied host is an error.
    fn named(&self, covers: impl Fn(&HostPattern) -> bool, port: Option<u16>) -> Result<bool, Finding> {
        if self.denied.iter().any(|pattern| pattern.may_have_port(port) && covers(pattern)) {
            return Err(Finding::new("denied-host", "the host may not be reached: use another source"));
        }
        Ok(self.allows(covers, port))
    }

    /// Returns whether the lists allow a host; one that is denied, or not among the only allowed ones, is an error.
    fn listed(&self, covers: impl Fn(&HostPattern) -> bool, port: Option<u16>) -> Result<bool, Finding> {
        let is_allowed = self.named(covers, port)?;
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

/// Returns whether URIs of the scheme, or of the one whose encrypted form it is, name a network host, to which programs of
/// any purpose connect.
#[cfg(feature = "validate")]
pub(crate) fn is_network_scheme(scheme: &str) -> bool {
    let is_known =
        |scheme: &str| host::LISTS["network schemes"].iter().any(|known| known.eq_ignore_ascii_case(scheme));
    is_known(scheme) || scheme.strip_suffix(['s', 'S']).is_some_and(is_known)
}

/// The schemes of URLs that may be used.
const SCHEMES: [&str; 4] = ["https", "http", "wss", "ws"];

/// The rules whose refusals never name a line of the configuration: the operator denied the host, or no honest call
/// goes there.
const NEVER_OPENED: &[&str] = &["denied-host", "metadata-endpoint", "rebinding-host"];

/// A pattern of hosts: one host, `*.` before a name for every name below it, or a network such as `10.0.0.0/8`, each
/// with an optional port.
///
/// ```
/// use mgp_security::network::HostPattern;
///
/// for text in ["example.com", "*.example.com:8443", "localhost:*", "10.0.0.7", "10.0.0.0/8", "[fd00::7]:80"] {
///     assert!(text.parse::<HostPattern>().is_ok());
/// }
/// assert!("exa mple.com".parse::<HostPattern>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    hosts: HostMatch,
    /// The port that is covered; `None` covers every port.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostMatch {
    Name(Box<str>),
    Below(Box<str>),
    Address(IpAddr),
    Network { base: IpAddr, bits: u8 },
}

impl HostPattern {
    /// Returns whether the pattern covers the name. A wildcard never covers the name of a cloud's metadata service.
    fn covers_name(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        match &self.hosts {
            HostMatch::Name(own) => **own == *name,
            HostMatch::Below(own) => {
                name.strip_suffix(&**own).is_some_and(|labels| labels.ends_with('.'))
                    && !is_metadata_name(name)
            }
            HostMatch::Address(_) | HostMatch::Network { .. } => false,
        }
    }

    /// Returns whether the pattern covers the address. The notation does not matter: the address that packets arrive at
    /// is compared. A network never covers the address of a cloud's metadata service.
    fn covers_address(&self, ip: IpAddr) -> bool {
        let led_to = reached(ip);
        match &self.hosts {
            HostMatch::Address(own) => *own == led_to,
            HostMatch::Network { base, bits } => {
                is_within(led_to, *base, *bits) && NonPublicReason::of(ip) != Some(NonPublicReason::Metadata)
            }
            HostMatch::Name(_) | HostMatch::Below(_) => false,
        }
    }

    /// Returns whether the pattern certainly covers the port; `None` is an unknown port.
    fn has_port(&self, port: Option<u16>) -> bool {
        self.port.is_none_or(|own| port == Some(own))
    }

    /// Returns whether the pattern may cover the port; `None` is an unknown port.
    fn may_have_port(&self, port: Option<u16>) -> bool {
        port.is_none() || self.has_port(port)
    }
}

/// Returns whether the first `bits` bits of two addresses of the same family are equal.
fn is_within(ip: IpAddr, base: IpAddr, bits: u8) -> bool {
    ip.is_ipv4() == base.is_ipv4()
        && (leading(ip) ^ leading(base)).checked_shr(128 - u32::from(bits)).unwrap_or(0) == 0
}

/// Returns the bits of an address, the first of which is the highest of the number.
fn leading(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(ip.to_bits()) << 96,
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

impl FromStr for HostPattern {
    type Err = InvalidHostPattern;

    fn from_str(text: &str) -> Result<Self, InvalidHostPattern> {
        if let Some((base, bits)) = text.split_once('/') {
            return network(base, bits).map(|hosts| Self { hosts, port: None });
        }
        let (written, port) = split_port(text)?;
        let (name, below) = written.strip_prefix("*.").map_or((written, false), |name| (name, true));
        let hosts = match (Host::parse(name).map_err(|_| InvalidHostPattern)?, below) {
            (Host::Domain(name), below) => {
                let name: Box<str> = name.strip_suffix('.').unwrap_or(&name).into();
                if name.is_empty() || name.contains('*') {
                    return Err(InvalidHostPattern);
                }
                if below { HostMatch::Below(name) } else { HostMatch::Name(name) }
            }
            (Host::Ipv4(ip), false) => HostMatch::Address(IpAddr::V4(ip)),
            (Host::Ipv6(ip), false) => HostMatch::Address(reached(IpAddr::V6(ip))),
            _ => return Err(InvalidHostPattern),
        };
        Ok(Self { hosts, port })
    }
}

/// Splits a pattern into host and port. An address in brackets keeps them; `:*`, like a missing port, means every port.
fn split_port(text: &str) -> Result<(&str, Option<u16>), InvalidHostPattern> {
    let after_host = if text.starts_with('[') { text.find(']').map_or(text.len(), |at| at + 1) } else { 0 };
    let Some(colon) = text[after_host..].find(':') else { return Ok((text, None)) };
    let (host, port) = text.split_at(after_host + colon);
    let port = &port[1..];
    if port == "*" {
        return Ok((host, None));
    }
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let number = port.parse::<u16>().ok().filter(|number| is_number && *number > 0);
    Ok((host, Some(number.ok_or(InvalidHostPattern)?)))
}

/// Reads a network such as `10.0.0.0/8` or `fd00::/8`. The bits after the prefix must be zero: if they are not, the
/// author means something else.
fn network(base: &str, bits: &str) -> Result<HostMatch, InvalidHostPattern> {
    let unbracketed = base.strip_prefix('[').and_then(|base| base.strip_suffix(']')).unwrap_or(base);
    let base: IpAddr = unbracketed.parse().map_err(|_| InvalidHostPattern)?;
    let is_number = bits.bytes().all(|byte| byte.is_ascii_digit());
    let bits: u8 = bits.parse().ok().filter(|_| is_number).ok_or(InvalidHostPattern)?;
    let rest_is_zero = leading(base).checked_shl(bits.into()).unwrap_or(0) == 0;
    let most = if base.is_ipv4() { 32 } else { 128 };
    let is_valid = (1..=most).contains(&bits) && rest_is_zero;
    if is_valid { Ok(HostMatch::Network { base, bits }) } else { Err(InvalidHostPattern) }
}

/// The error for a text that is not a valid pattern of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no host: write one such as `localhost`, `localhost:3000`, `*.internal:8443`, `[::1]:*` or the network `10.0.0.0/8`"
)]
#[non_exhaustive]
pub struct InvalidHostPattern;

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            HostMatch::Name(name) => f.write_str(name)?,
            HostMatch::Below(name) => write!(f, "*.{name}")?,
            HostMatch::Address(IpAddr::V6(ip)) => write!(f, "[{ip}]")?,
            HostMatch::Address(ip) => ip.fmt(f)?,
            HostMatch::Network { base, bits } => write!(f, "{base}/{bits}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_read_back_as_it_is_written() {
        for text in [
            "example.com", "example.com:443", "*.internal:8443", "10.0.0.7:1", "10.0.0.0/8", "fd00::/8",
            "[fd00::7]:80", "[::1]",
        ] {
            assert_eq!(text.parse::<HostPattern>().unwrap().to_string(), text);
        }
        assert_eq!("LocalHost:*".parse::<HostPattern>(), "localhost".parse());
        assert_eq!("0x7f.1:80".parse::<HostPattern>(), "127.0.0.1:80".parse());
        assert_eq!("[::ffff:10.0.0.7]".parse::<HostPattern>(), "10.0.0.7".parse());
    }

    #[test]
    fn what_could_mean_two_things_is_no_pattern() {
        for text in [
            "", ":80", "*", "*.", "*:80", "a:b", "a:", "a:0", "a:65536", "a:+1", "a:1:2", "::1", "[::1",
            "10.0.0.1/8", "10.0.0.0/0", "10.0.0.0/33", "10.0.0.0/8:80", "*.10.0.0.1", "http://a", "a/b",
            "10.0.0.0/+8",
        ] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
    }
}

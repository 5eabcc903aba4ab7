use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::Host;

use crate::Finding;

use super::address::{Barrier, reached};
use super::host;

/// What calls may reach. By default: the public network, over HTTP and WebSocket.
///
/// What is denied is decided first and for good. A host that is allowed is let through although it, or the
/// addresses its name has, are not public; the metadata of clouds stays out of reach even then, unless the
/// address itself is allowed.
///
/// ```
/// use mgp_security::validator::network::{NetworkPolicy, check_url};
///
/// let policy = NetworkPolicy::default()
///     .allow_host("build.internal".parse()?)
///     .deny_host("*.example.net".parse()?);
/// assert!(check_url("https://build.internal/", &policy).is_ok());
/// assert!(check_url("https://other.internal/", &policy).is_err());
/// assert!(check_url("https://www.example.net/", &policy).is_err());
/// # Ok::<(), mgp_security::validator::network::InvalidHostPattern>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct NetworkPolicy {
    schemes: Vec<Box<str>>,
    allowed: Vec<HostPattern>,
    denied: Vec<HostPattern>,
    others: Others,
}

/// What becomes of hosts that no pattern names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    PublicPass,
    Refused,
}

impl Default for NetworkPolicy {
    fn default() -> Self {
        Self {
            schemes: ["https", "http", "wss", "ws"].map(Box::from).to_vec(),
            allowed: Vec::new(),
            denied: Vec::new(),
            others: Others::PublicPass,
        }
    }
}

impl NetworkPolicy {
    /// Lets `host` through although it is not public.
    pub fn allow_host(mut self, host: HostPattern) -> Self {
        self.allowed.push(host);
        self
    }

    /// Refuses `host` whatever else is said about it.
    pub fn deny_host(mut self, host: HostPattern) -> Self {
        self.denied.push(host);
        self
    }

    /// Refuses every host that is not allowed by name, public ones as well.
    pub fn only_allowed_hosts(mut self) -> Self {
        self.others = Others::Refused;
        self
    }

    /// Lets URLs with `scheme` through, like `ftp`, if their host may be reached.
    ///
    /// It helps with schemes that name a host behind `//`; others, like `file`, have nothing to decide on and
    /// stay refused.
    pub fn allow_scheme(mut self, scheme: &str) -> Self {
        self.schemes.push(scheme.to_ascii_lowercase().into());
        self
    }

    /// Refuses URLs with `scheme`, for example `http` where everything must be encrypted.
    pub fn deny_scheme(mut self, scheme: &str) -> Self {
        self.schemes.retain(|allowed| !allowed.eq_ignore_ascii_case(scheme));
        self
    }

    pub(super) fn has_scheme(&self, scheme: &str) -> bool {
        self.schemes.iter().any(|allowed| allowed.eq_ignore_ascii_case(scheme))
    }

    /// Decides on a host as a URL names it.
    pub(super) fn judge_host(&self, host: &Host<String>) -> Result<(), Finding> {
        match host {
            Host::Domain(name) => match self.listed(|pattern| pattern.covers_name(name))? {
                Listed::Allowed => Ok(()),
                Listed::Not => host::check(name),
            },
            Host::Ipv4(ip) => self.judge_address(IpAddr::V4(*ip)),
            Host::Ipv6(ip) => self.judge_address(IpAddr::V6(*ip)),
        }
    }

    pub(super) fn judge_address(&self, ip: IpAddr) -> Result<(), Finding> {
        match self.listed(|pattern| pattern.covers_address(ip))? {
            Listed::Allowed => Ok(()),
            Listed::Not => Barrier::of(ip).map_or(Ok(()), |barrier| Err(barrier.finding())),
        }
    }

    /// Decides on an address that `host`, which was judged before, resolved to.
    pub(super) fn judge_resolved(&self, host: &Host<String>, ip: IpAddr) -> Result<(), Finding> {
        if self.denied.iter().any(|pattern| pattern.covers_address(ip)) {
            return Err(denied());
        }
        if self.allowed.iter().any(|pattern| pattern.covers_address(ip)) {
            return Ok(());
        }
        let named = match host {
            Host::Domain(name) => self.allowed.iter().any(|pattern| pattern.covers_name(name)),
            Host::Ipv4(_) | Host::Ipv6(_) => false,
        };
        match Barrier::of(ip) {
            None => Ok(()),
            Some(barrier) if named && barrier != Barrier::Metadata => Ok(()),
            Some(barrier) => Err(barrier.finding()),
        }
    }

    fn listed(&self, covers: impl Fn(&HostPattern) -> bool) -> Result<Listed, Finding> {
        if self.denied.iter().any(&covers) {
            return Err(denied());
        }
        if self.allowed.iter().any(&covers) {
            return Ok(Listed::Allowed);
        }
        match self.others {
            Others::PublicPass => Ok(Listed::Not),
            Others::Refused => Err(Finding::new(
                "host-not-allowed",
                "only certain hosts may be reached, and this is none of them",
            )),
        }
    }
}

/// Whether the lists decide.
enum Listed {
    Allowed,
    Not,
}

fn denied() -> Finding {
    Finding::new("denied-host", "the host may not be reached: use another source")
}

/// One host, or with `*.` before a name every name below it.
///
/// ```
/// use mgp_security::validator::network::HostPattern;
///
/// for text in ["example.com", "*.example.com", "10.0.0.7", "[fd00::7]"] {
///     assert!(text.parse::<HostPattern>().is_ok());
/// }
/// assert!("exa mple.com".parse::<HostPattern>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern(Pattern);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Name(Box<str>),
    Below(Box<str>),
    Address(IpAddr),
}

impl HostPattern {
    fn covers_name(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        match &self.0 {
            Pattern::Name(own) => **own == *name,
            Pattern::Below(own) => name.strip_suffix(&**own).is_some_and(|labels| labels.ends_with('.')),
            Pattern::Address(_) => false,
        }
    }

    /// An address is covered in every spelling: what counts is where it leads.
    fn covers_address(&self, ip: IpAddr) -> bool {
        matches!(&self.0, Pattern::Address(own) if *own == reached(ip))
    }
}

impl FromStr for HostPattern {
    type Err = InvalidHostPattern;

    fn from_str(text: &str) -> Result<Self, InvalidHostPattern> {
        let (name, below) = text.strip_prefix("*.").map_or((text, false), |name| (name, true));
        let pattern = match (Host::parse(name).map_err(|_| InvalidHostPattern)?, below) {
            (Host::Domain(name), below) => {
                let name: Box<str> = name.strip_suffix('.').unwrap_or(&name).into();
                if name.is_empty() || name.contains('*') {
                    return Err(InvalidHostPattern);
                }
                if below { Pattern::Below(name) } else { Pattern::Name(name) }
            }
            (Host::Ipv4(ip), false) => Pattern::Address(IpAddr::V4(ip)),
            (Host::Ipv6(ip), false) => Pattern::Address(reached(IpAddr::V6(ip))),
            _ => return Err(InvalidHostPattern),
        };
        Ok(Self(pattern))
    }
}

/// The text is neither a host nor `*.` and a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither a host nor \"*.\" and a name")]
#[non_exhaustive]
pub struct InvalidHostPattern;

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Pattern::Name(name) => f.write_str(name),
            Pattern::Below(name) => write!(f, "*.{name}"),
            Pattern::Address(ip) => ip.fmt(f),
        }
    }
}
/// Whether a scheme names a host of the network behind it, which programs connect to.
pub(crate) fn is_network_scheme(scheme: &str) -> bool {
    NETWORK_SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// Schemes whose URIs are fetched over the network.
const NETWORK_SCHEMES: &[&str] = &[
    "http", "https", "ws", "wss", "ftp", "ftps", "sftp", "tftp", "scp", "ssh", "telnet", "smb", "cifs",
    "nfs", "gopher", "ldap", "ldaps", "dict", "rtsp", "imap", "imaps", "smtp", "smtps", "pop3", "dav",
    "davs",
];

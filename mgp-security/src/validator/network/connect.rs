use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::{TcpStream, lookup_host};
use url::Host;

use crate::Finding;

use super::{NetworkPolicy, target};

/// Makes connections to the addresses that a policy lets through, and to no others.
///
/// The name is resolved once. All its addresses are judged, and one that is forbidden refuses them all: a name
/// that leads inward and outward at once is no accident. The connection goes to the addresses that were judged,
/// so a name that answers differently the next time gains nothing.
///
/// It fits wherever a dialer can be given. For an HTTP client of this workspace that is `dial_with`, which takes
/// a closure from the URL to a stream:
///
/// ```text
/// let guard = Arc::new(GuardedConnector::new(policy));
/// builder.dial_with(move |url| {
///     let guard = Arc::clone(&guard);
///     async move {
///         let host = url.host().ok_or(io::ErrorKind::InvalidInput)?;
///         Ok(guard.connect(host, url.port_u16().unwrap_or(80)).await?)
///     }
/// })
/// ```
///
/// A proxy would resolve the name anew, so a guarded client must not use one.
///
/// Dropping the future of [`connect`](Self::connect) ends the attempt. It waits as long as the system does: a
/// limit is the caller's.
#[derive(Debug, Clone)]
pub struct GuardedConnector<R = SystemResolver> {
    policy: NetworkPolicy,
    resolver: R,
}

impl GuardedConnector {
    /// A connector that asks the system for addresses.
    pub fn new(policy: NetworkPolicy) -> Self {
        Self::with_resolver(policy, SystemResolver::new())
    }
}

impl<R: Resolve> GuardedConnector<R> {
    /// A connector that asks `resolver` for addresses.
    pub fn with_resolver(policy: NetworkPolicy, resolver: R) -> Self {
        Self { policy, resolver }
    }

    /// Connects to `host`, a name or an address as a URL has it, IPv6 in brackets.
    pub async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, ConnectError> {
        let addresses = self.addresses(host, port).await?;
        TcpStream::connect(&*addresses).await.map_err(ConnectError::Unreachable)
    }

    /// The addresses of `host`, all of which may be reached. There is at least one.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, ConnectError> {
        let host = target::parse_host(host, &self.policy)?;
        let name = match &host {
            // An address is not resolved: a resolver might read it in another way.
            Host::Ipv4(ip) => return Ok(vec![SocketAddr::new(IpAddr::V4(*ip), port)]),
            Host::Ipv6(ip) => return Ok(vec![SocketAddr::new(IpAddr::V6(*ip), port)]),
            Host::Domain(name) => name,
        };
        let addresses = self.resolver.resolve(name, port).await.map_err(ConnectError::Unreachable)?;
        if addresses.is_empty() {
            return Err(ConnectError::Unreachable(io::Error::new(
                io::ErrorKind::NotFound,
                "the host has no address",
            )));
        }
        for address in &addresses {
            self.policy.judge_resolved(&host, address.ip())?;
        }
        Ok(addresses)
    }
}

/// Knows the addresses of hosts.
pub trait Resolve: Send + Sync {
    /// The addresses of `host`, with `port`.
    fn resolve(&self, host: &str, port: u16) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;
}

/// Asks the system, as every other program on it does.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct SystemResolver;

impl SystemResolver {
    /// The system's resolver.
    pub const fn new() -> Self {
        Self
    }
}

impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(lookup_host((host, port)).await?.collect())
    }
}

/// Why there is no connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The policy refuses the host or one of its addresses.
    Refused(Finding),
    /// The host has no address, or does not answer.
    Unreachable(io::Error),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(finding) => finding.fmt(f),
            Self::Unreachable(_) => f.write_str("the host cannot be reached"),
        }
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(finding) => Some(finding),
            Self::Unreachable(error) => Some(error),
        }
    }
}

impl From<Finding> for ConnectError {
    fn from(finding: Finding) -> Self {
        Self::Refused(finding)
    }
}

impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused(finding) => Self::new(io::ErrorKind::PermissionDenied, finding),
            ConnectError::Unreachable(error) => error,
        }
    }
}

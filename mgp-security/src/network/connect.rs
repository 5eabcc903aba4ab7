//! Connections that are made only to addresses that the policy allows.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use mgp_types::BoxFuture;
use tokio::net::{TcpStream, lookup_host};
use url::Host;

use crate::Finding;

use super::{NetworkPolicy, target};

/// A connector that only connects to addresses that a policy allows.
///
/// The name is resolved once, and all its addresses are judged. A single forbidden address refuses the whole name: a
/// name that leads to the public and to an internal network at once does so on purpose. The connection goes to the
/// addresses that were judged, so a name that resolves differently the next time gains nothing.
///
/// The connector fits wherever a dialer can be configured. For an HTTP client of this workspace that is `dial_with`,
/// which takes a closure from the URL to a stream:
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
/// A proxy would resolve the name again, so a guarded client must not use one.
///
/// Dropping the future of [`connect`](Self::connect) ends the attempt. The attempt lasts as long as the system allows;
/// callers set a timeout themselves.
#[derive(Clone)]
pub struct GuardedConnector {
    pub(crate) policy: NetworkPolicy,
    resolve: Arc<ResolveHost>,
}

mgp_types::partial_debug!(GuardedConnector, self => policy: self.policy);

type ResolveHost = dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

impl GuardedConnector {
    /// Creates a connector that resolves names with the system's resolver.
    pub fn new(policy: NetworkPolicy) -> Self {
        Self::with_resolver(policy, SystemResolver)
    }

    /// Creates a connector that resolves names with `resolver`.
    pub fn with_resolver(policy: NetworkPolicy, resolver: impl HostResolver + 'static) -> Self {
        let resolver = Arc::new(resolver);
        let resolve = move |host: String, port| -> BoxFuture<'static, _> {
            let resolver = Arc::clone(&resolver);
            Box::pin(async move { resolver.resolve(&host, port).await })
        };
        Self { policy, resolve: Arc::new(resolve) }
    }

    /// Connects to `host`, which is a name or an address as it appears in a URL, with IPv6 addresses in brackets.
    pub async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, ConnectError> {
        let addresses = self.addresses(host, port).await?;
        TcpStream::connect(&*addresses).await.map_err(ConnectError::Unreachable)
    }

    /// Returns the addresses of `host`, at least one, all of which the policy allows.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, ConnectError> {
        let host = target::parse_host(host, Some(port), &self.policy)?;
        let name = match &host {
            // A literal address is not resolved, because a resolver might read it in another way.
            Host::Ipv4(ip) => return Ok(vec![SocketAddr::new(IpAddr::V4(*ip), port)]),
            Host::Ipv6(ip) => return Ok(vec![SocketAddr::new(IpAddr::V6(*ip), port)]),
            Host::Domain(name) => name,
        };
        let addresses = (self.resolve)(name.clone(), port).await.map_err(ConnectError::Unreachable)?;
        if addresses.is_empty() {
            return Err(ConnectError::Unreachable(io::Error::new(
                io::ErrorKind::NotFound,
                "the host has no address",
            )));
        }
        for address in &addresses {
            self.policy.judge_resolved(&host, address.ip(), port)?;
        }
        Ok(addresses)
    }
}

/// A resolver of host names.
pub trait HostResolver: Send + Sync {
    /// Returns the addresses of `host`, each with `port`.
    fn resolve(&self, host: &str, port: u16) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;
}

/// A resolver that asks the operating system, like the other programs on the machine.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct SystemResolver;

impl HostResolver for SystemResolver {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(lookup_host((host, port)).await?.collect())
    }
}

/// The reason why no connection was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The policy refuses the host or one of its addresses.
    #[error("{0}")]
    Refused(#[from] Finding),
    /// The host has no address or cannot be connected to.
    #[error("the host cannot be reached")]
    Unreachable(#[source] io::Error),
}

impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused(finding) => Self::new(io::ErrorKind::PermissionDenied, finding),
            ConnectError::Unreachable(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::net::TcpListener;

    use super::*;
    use crate::network::Redirects;

    /// A resolver that answers the look-ups with the given answers in order, and with the last one from then on.
    struct Answers {
        answers: Vec<Vec<IpAddr>>,
        asked: Arc<AtomicUsize>,
    }

    impl HostResolver for Answers {
        async fn resolve(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
            let turn = self.asked.fetch_add(1, Ordering::Relaxed).min(self.answers.len() - 1);
            Ok(self.answers[turn].iter().map(|ip| SocketAddr::new(*ip, port)).collect())
        }
    }

    fn guard(policy: NetworkPolicy, answers: &[&[&str]]) -> GuardedConnector {
        counted(policy, answers).0
    }

    /// Returns a connector, and how often it asked its resolver.
    fn counted(policy: NetworkPolicy, answers: &[&[&str]]) -> (GuardedConnector, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let answers = answers.iter().map(|ips| ips.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        let answers = Answers { answers, asked: asked.clone() };
        (GuardedConnector::with_resolver(policy, answers), asked)
    }

    async fn refusal(guard: &GuardedConnector, host: &str) -> &'static str {
        match guard.connect(host, 80).await {
            Err(ConnectError::Refused(finding)) => finding.rule,
            other => panic!("{host}: {other:?}"),
        }
    }

    // covers: MGP-4.5-03
    #[tokio::test]
    async fn a_public_name_that_leads_inward_is_refused() {
        for (answer, expected) in [
            ("127.0.0.1", "loopback"),
            ("10.0.0.1", "private-address"),
            ("169.254.169.254", "metadata-endpoint"),
            ("::1", "loopback"),
            ("::ffff:192.168.0.1", "private-address"),
            ("fd00::1", "private-address"),
        ] {
            let guard = guard(NetworkPolicy::default(), &[&[answer]]);
            assert_eq!(refusal(&guard, "example.com").await, expected, "{answer}");
        }
    }

    #[tokio::test]
    async fn one_forbidden_address_refuses_them_all() {
        let guard = guard(NetworkPolicy::default(), &[&["1.1.1.1", "10.0.0.1"]]);
        assert_eq!(refusal(&guard, "example.com").await, "private-address");
    }

    #[tokio::test]
    async fn a_name_is_resolved_once_so_that_rebinding_gains_nothing() {
        let (guard, asked) = counted(NetworkPolicy::default(), &[&["1.1.1.1"], &["127.0.0.1"]]);
        let addresses = guard.addresses("example.com", 80).await.unwrap();
        assert_eq!(addresses, ["1.1.1.1:80".parse().unwrap()]);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        // The next connection is judged anew.
        assert_eq!(refusal(&guard, "example.com").await, "loopback");
    }

    #[tokio::test]
    async fn an_address_is_judged_without_asking_anyone() {
        let (guard, asked) = counted(NetworkPolicy::default(), &[&["1.1.1.1"]]);
        assert_eq!(refusal(&guard, "127.0.0.1").await, "loopback");
        assert_eq!(refusal(&guard, "[::1]").await, "loopback");
        assert_eq!(refusal(&guard, "0x7f.1").await, "loopback");
        assert_eq!(refusal(&guard, "localhost").await, "loopback");
        assert_eq!(
            guard.addresses("[2606:4700::1]", 443).await.unwrap(),
            ["[2606:4700::1]:443".parse().unwrap()]
        );
        assert_eq!(asked.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn an_allowed_name_may_lead_inward_but_not_to_metadata_or_what_is_denied() {
        let policy = NetworkPolicy::default()
            .allow_host("build.example.com".parse().unwrap())
            .deny_host("10.0.0.9".parse().unwrap());
        let guard =
            guard(policy, &[&["10.0.0.1"], &["169.254.169.254"], &["::ffff:10.0.0.9"], &["10.0.0.1"]]);
        assert!(guard.addresses("build.example.com", 80).await.is_ok());
        assert_eq!(refusal(&guard, "build.example.com").await, "metadata-endpoint");
        assert_eq!(refusal(&guard, "build.example.com").await, "denied-host");
        assert_eq!(refusal(&guard, "other.example.com").await, "private-address");
    }

    #[tokio::test]
    async fn the_connection_goes_to_the_address_that_was_judged() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let policy = NetworkPolicy::default().allow_host("build.example.com".parse().unwrap());
        let guard = guard(policy, &[&["127.0.0.1"]]);
        let stream = guard.connect("build.example.com", here.port()).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), here);
    }

    #[tokio::test]
    async fn a_name_without_addresses_cannot_be_reached() {
        let guard = guard(NetworkPolicy::default(), &[&[]]);
        let error = guard.connect("example.com", 80).await.unwrap_err();
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn each_hop_of_a_redirect_is_judged_by_its_text_and_by_its_addresses() {
        let policy = NetworkPolicy::default();
        let guard = guard(policy.clone(), &[&["1.1.1.1"], &["10.0.0.1"]]);
        let mut hops = Redirects::new("https://example.com/", &policy).unwrap();
        guard.addresses("example.com", 443).await.unwrap();
        hops.follow("https://inward.example.org/").unwrap();
        assert_eq!(refusal(&guard, "inward.example.org").await, "private-address");
    }

    #[test]
    fn a_refusal_is_an_error_of_input_and_output_that_keeps_its_reason() {
        let error = io::Error::from(ConnectError::from(Finding::new("loopback", "no")));
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(error.to_string(), "no (loopback)");
    }
}

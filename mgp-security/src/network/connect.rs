//! The addresses of a host, all of which the policy allows.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use mgp_types::BoxFuture;
use tokio::net::lookup_host;
use url::Host;

use crate::Finding;

use super::{NetworkPolicy, target};

/// The guard of connections: it resolves names, and only returns addresses that a policy allows.
///
/// The name is resolved once, and all its addresses are judged. A single forbidden address refuses the whole name: a
/// name that leads to the public and to an internal network at once does so on purpose. Connect to the addresses that
/// were judged, so that a name that resolves differently the next time gains nothing, and use no proxy, which would
/// resolve the name again.
#[derive(Clone)]
pub struct GuardedConnector {
    pub(crate) policy: NetworkPolicy,
    resolve: Arc<ResolveHost>,
}

mgp_types::partial_debug!(GuardedConnector, self => policy: self.policy);

type ResolveHost = dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

impl GuardedConnector {
    /// Creates a guard that asks the operating system for the addresses of names, like the other programs on the machine.
    pub fn new(policy: NetworkPolicy) -> Self {
        let resolve = |host: String, port| -> BoxFuture<'static, _> {
            Box::pin(async move { Ok(lookup_host((host, port)).await?.collect()) })
        };
        Self { policy, resolve: Arc::new(resolve) }
    }

    /// Creates a guard by which every name has the addresses that `answer` returns.
    #[cfg(test)]
    pub(crate) fn answered(
        policy: NetworkPolicy,
        answer: impl Fn() -> Vec<IpAddr> + Send + Sync + 'static,
    ) -> Self {
        let resolve = move |_: String, port| -> BoxFuture<'static, _> {
            let addresses = answer().into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
            Box::pin(std::future::ready(Ok(addresses)))
        };
        Self { policy, resolve: Arc::new(resolve) }
    }

    /// Returns the addresses of `host`, at least one, all of which the policy allows. The host is a name or an address as
    /// it appears in a URL, with IPv6 addresses in brackets.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, FetchError> {
        let host = target::parse_host(host, Some(port), &self.policy)?;
        let name = match &host {
            // A literal address is not resolved, because a resolver might read it in another way.
            Host::Ipv4(ip) => return Ok(vec![SocketAddr::new(IpAddr::V4(*ip), port)]),
            Host::Ipv6(ip) => return Ok(vec![SocketAddr::new(IpAddr::V6(*ip), port)]),
            Host::Domain(name) => name,
        };
        let found = (self.resolve)(name.clone(), port).await;
        let addresses = found.map_err(|error| FetchError::Unreachable(error.into()))?;
        if addresses.is_empty() {
            return Err(FetchError::Unreachable("the host has no address".into()));
        }
        addresses.iter().try_for_each(|address| self.policy.judge_resolved(&host, address.ip(), port))?;
        Ok(addresses)
    }
}

/// The reason why a host cannot be reached, or a document could not be fetched. It repeats neither the query of a URL nor
/// what was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The URL, its host, or an address of the host may not be reached.
    #[error("the URL may not be reached: {0}")]
    Refused(#[from] Finding),
    /// The URL needs TLS, because its host is not this machine.
    #[error("the URL must begin with https://")]
    NotEncrypted,
    /// The host has no address, or none that answers.
    #[error("the host cannot be reached, or ended the connection")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer is larger than the bound.
    #[error("the answer is too large")]
    TooLarge,
    /// The answer did not come in time.
    #[error("the answer did not come in time")]
    TooSlow,
    /// The answer leads to nowhere, on and on, or to another scheme.
    #[error("the answer redirects where requests may not follow")]
    Redirected,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn guard(policy: NetworkPolicy, answers: &[&[&str]]) -> GuardedConnector {
        counted(policy, answers).0
    }

    /// Returns a guard, and how often it asked its resolver.
    fn counted(policy: NetworkPolicy, answers: &[&[&str]]) -> (GuardedConnector, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let answers: Vec<Vec<IpAddr>> =
            answers.iter().map(|ips| ips.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        let turn = asked.clone();
        // The answers are given in order, and the last one from then on.
        let answer = move || answers[turn.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1)].clone();
        (GuardedConnector::answered(policy, answer), asked)
    }

    async fn refusal(guard: &GuardedConnector, host: &str) -> &'static str {
        match guard.addresses(host, 80).await {
            Err(FetchError::Refused(finding)) => finding.rule,
            other => panic!("{host}: {other:?}"),
        }
    }

    // covers: MGP-4.5-03
    #[tokio::test]
    async fn a_public_name_is_refused_if_one_of_its_addresses_leads_inward() {
        for (answer, expected) in [
            (&["127.0.0.1"][..], "loopback"),
            (&["10.0.0.1"], "private-address"),
            (&["169.254.169.254"], "metadata-endpoint"),
            (&["::1"], "loopback"),
            (&["::ffff:192.168.0.1"], "private-address"),
            (&["fd00::1"], "private-address"),
            (&["1.1.1.1", "10.0.0.1"], "private-address"),
        ] {
            let guard = guard(NetworkPolicy::default(), &[answer]);
            assert_eq!(refusal(&guard, "example.com").await, expected, "{answer:?}");
        }
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
    async fn a_name_without_addresses_cannot_be_reached() {
        let guard = guard(NetworkPolicy::default(), &[&[]]);
        let unreachable = guard.addresses("example.com", 80).await.unwrap_err();
        assert!(
            matches!(unreachable, FetchError::Unreachable(error) if error.to_string().contains("no address"))
        );
    }

    #[cfg(feature = "network")]
    #[tokio::test]
    async fn each_hop_of_a_redirect_is_judged_by_its_text_and_by_its_addresses() {
        let policy = NetworkPolicy::default();
        let guard = guard(policy.clone(), &[&["1.1.1.1"], &["10.0.0.1"]]);
        let first = target::parse("https://example.com/", &policy).unwrap();
        guard.addresses("example.com", 443).await.unwrap();
        target::redirected(&first, "https://inward.example.org/", &policy).unwrap();
        assert_eq!(refusal(&guard, "inward.example.org").await, "private-address");
    }
}

//! Where a call may reach: the validator `network_restricted` (MGP §4.5).
//!
//! The text of a URL decides only half of it. [`check_url`] refuses what its text gives away: forbidden addresses
//! in every spelling, names that lead inward, schemes and authorities that parsers disagree on. What a public
//! name resolves to is known when it is resolved, so [`GuardedConnector`] judges the addresses themselves and
//! connects to the ones it judged; and each redirect is a new URL, for which there is [`Redirects`].
//!
//! | item | decides |
//! |---|---|
//! | [`NetworkPolicy`] | what is let through besides the public network, and what is not |
//! | [`check_url`] | one URL |
//! | [`GuardedConnector`] | a connection |
//! | [`Redirects`] | the redirects of a request |

mod address;
mod connect;
mod found;
mod host;
mod nested;
mod pattern;
mod policy;
mod redirect;
mod target;

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use crate::Finding;

pub use connect::{ConnectError, GuardedConnector, HostResolver, SystemResolver};
pub(crate) use found::check_text;
pub(crate) use nested::{check as check_nested, percent_decoded};
pub use pattern::{HostPattern, InvalidHostPattern};
pub use policy::NetworkPolicy;
pub(crate) use policy::is_network_scheme;
pub use redirect::Redirects;

/// Decides whether `text` is a URL that a call may go to.
///
/// Besides the host it refuses everything that two programs could read differently, whatever it leads to: the one
/// that checks a URL and the one that fetches it are seldom the same.
///
/// ```
/// use mgp_security::validator::network::{NetworkPolicy, check_url};
///
/// let policy = NetworkPolicy::default();
/// assert!(check_url("https://example.com/docs?page=2#top", &policy).is_ok());
/// assert_eq!(check_url("http://0x7f.1/", &policy).unwrap_err().rule, "loopback");
/// ```
pub fn check_url(text: &str, policy: &NetworkPolicy) -> Result<(), Finding> {
    target::parse(text, policy).map(drop)
}

/// Decides whether a call may go to `host`: a name, or an address in any spelling, with a port or without.
///
/// That a name passes says nothing about the addresses it has.
pub(crate) fn check_host(host: &str, policy: &NetworkPolicy) -> Result<(), Finding> {
    let (host, port) = found::split_port(host);
    target::parse_host(host, port, policy).map(drop)
}

/// Decides whether a call may go to `ip`.
fn check_address(ip: IpAddr, policy: &NetworkPolicy) -> Result<(), Finding> {
    policy.judge_address(ip, None)
}

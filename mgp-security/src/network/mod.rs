//! Network targets that a call may reach, and bounded requests to them: the engine of the validator
//! `network_restricted` (MGP §4.5), and of everything that is fetched.
//!
//! The text of a URL decides only part of it. [`check_url`] refuses what the text shows: forbidden addresses in every
//! notation, names of the internal network, and schemes and authorities that parsers read differently. The addresses of
//! a public name are only known once it is resolved, so [`GuardedConnector`] judges the addresses themselves,
//! and requests go to those that it judged. Each redirect is a new URL, which is judged as the first one.
//!
//! | item | decides |
//! |---|---|
//! | [`NetworkPolicy`] | what is let through besides the public network, and what is not |
//! | [`check_url`] | one URL |
//! | [`GuardedConnector`] | the addresses of a host |
//! | `issuer_metadata_urls` | where an issuer of tokens describes itself (feature `network`) |
//! | `Fetcher` | a request for a document, with its redirects, size and time (feature `network`) |

mod connect;
#[cfg(feature = "network")]
mod fetch;
#[cfg(feature = "validate")]
mod found;
mod host;
mod policy;
mod target;

#[cfg(all(test, feature = "validate"))]
mod tests;

use crate::Finding;

pub use connect::{FetchError, GuardedConnector};
#[cfg(feature = "network")]
pub use fetch::{Fetched, Fetcher, JudgedHttp, issuer_metadata_urls};
#[cfg(all(feature = "permission", feature = "validate"))]
pub(crate) use found::{bare_outer_host, outer_hosts};
#[cfg(feature = "validate")]
pub(crate) use found::{check_addresses, check_text};
#[cfg(feature = "validate")]
pub(crate) use policy::is_network_scheme;
pub use policy::{HostPattern, InvalidHostPattern, NetworkPolicy};
#[cfg(feature = "code-safety")]
pub(crate) use target::is_metadata_url;
#[cfg(feature = "validate")]
pub(crate) use target::{check_nested, host_of, is_metadata, is_of_scheme};

/// Checks that `text` is a URL that a call may go to.
///
/// Besides forbidden hosts, this refuses everything that two programs could read differently, wherever it leads,
/// because the program that checks a URL and the one that fetches it are seldom the same.
///
/// ```
/// use mgp_security::network::{NetworkPolicy, check_url};
///
/// let policy = NetworkPolicy::default();
/// assert!(check_url("https://example.com/docs?page=2#top", &policy).is_ok());
/// assert_eq!(check_url("http://0x7f.1/", &policy).unwrap_err().rule, "loopback");
/// ```
pub fn check_url(text: &str, policy: &NetworkPolicy) -> Result<(), Finding> {
    target::parse(text, policy).map(drop)
}

/// Checks that a call may go to `host`, which is a name or an address in any notation, with or without a port.
///
/// A name that passes can still have addresses that do not.
#[cfg(feature = "validate")]
pub(crate) fn check_host(host: &str, policy: &NetworkPolicy) -> Result<(), Finding> {
    let (host, port) = found::split_port(host);
    target::parse_host(host, port, policy).map(drop)
}

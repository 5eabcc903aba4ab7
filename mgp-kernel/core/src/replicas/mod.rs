//! The link to the kernels with which this one shares its decisions. Each kernel has a whole copy of them in its own databases,
//! decides from what it has in memory, and follows what the others change.

#[cfg(not(feature = "cluster"))]
mod alone;
mod cluster_link;
mod freshness;
mod leases;
mod logins;
mod page_logins;
mod peers;
#[cfg(feature = "cluster")]
mod postgres;
#[cfg(feature = "cluster")]
mod record;

pub(crate) use self::cluster_link::{ClusterLink, VerifiedChain, share};
pub(crate) use self::freshness::{FreshnessGate, LinkStatus};
#[cfg(feature = "cluster")]
pub(crate) use self::leases::LeasedServers;
pub(crate) use self::logins::{LoginFuture, SharedLogins};
pub(crate) use self::page_logins::{SharedPageLogins, StoredPageLogin};
pub(crate) use self::peers::{ClientFront, MARKS, OF_CLIENT, PeerMarks, Peers};
#[cfg(feature = "cluster")]
pub use self::postgres::connect;

//! Classification of IP addresses: public, or not public and why.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use crate::Finding;

use super::host::LISTS;

/// The reason why an address is not part of the public network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NonPublicReason {
    Loopback,
    Metadata,
    Unspecified,
    Private,
    LinkLocal,
    Multicast,
    Reserved,
}

impl NonPublicReason {
    /// Returns the reason why `ip` is not public; `None` for a public address.
    ///
    /// For IPv6 there is a list of public ranges, and all others are refused. For IPv4 there is a list of non-public
    /// ranges, and all others are public.
    pub(super) fn of(ip: IpAddr) -> Option<Self> {
        match ip {
            _ if METADATA.contains(&ip) => Some(Self::Metadata),
            IpAddr::V4(ip) => Self::of_v4(ip),
            IpAddr::V6(ip) => Self::of_v6(ip),
        }
    }

    fn of_v4(ip: Ipv4Addr) -> Option<Self> {
        Some(match ip.octets() {
            [0, 0, 0, 0] => Self::Unspecified,
            [127, ..] => Self::Loopback,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            [169, 254, ..] => Self::LinkLocal,
            [224..=239, ..] => Self::Multicast,
            // The local network `0.0.0.0/8`, protocol assignments, documentation, the retired 6to4 relay, benchmarks,
            // and addresses reserved for the future.
            [0 | 240..=255, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18..=19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _] => Self::Reserved,
            _ => return None,
        })
    }

    fn of_v6(ip: Ipv6Addr) -> Option<Self> {
        if let Some(inner) = embedded(ip)
            && let Some(barrier) = Self::of(inner.into())
            && !matches!((barrier, ip), (_, Ipv6Addr::LOCALHOST | Ipv6Addr::UNSPECIFIED))
        {
            return Some(barrier);
        }
        Some(match ip.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Self::Unspecified,
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] | [0x64, 0xff9b, 1, ..] => Self::Private,
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            [0xff00..=0xffff, ..] => Self::Multicast,
            // Non-public ranges inside the unicast space: protocol assignments with Teredo, and documentation.
            [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Self::Reserved,
            // The unicast space, and public IPv4 addresses behind the two prefixes (IPv4-mapped and NAT64) that lead to
            // them.
            [0x2000..=0x3fff, ..] | [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
                return None;
            }
            _ => Self::Reserved,
        })
    }

    pub(super) fn finding(self) -> Finding {
        let (rule, message) = match self {
            Self::Loopback => ("loopback", "is this machine's own: name a host of the public network"),
            Self::Metadata => ("metadata-endpoint", "is that of a cloud's metadata: it is not for calls"),
            Self::Unspecified => ("unspecified-address", "stands for this machine: name a public host"),
            Self::Private => ("private-address", "is a private network's: name a host of the public one"),
            Self::LinkLocal => ("link-local", "is that of a neighbour: name a host of the public network"),
            Self::Multicast => ("multicast", "is that of many hosts: name one of the public network"),
            Self::Reserved => ("reserved-address", "is reserved: name a host of the public network"),
        };
        Finding::new(rule, format!("the address {message}"))
    }
}

/// Returns the address that a packet for `ip` arrives at, as far as the address itself tells: the IPv4 address embedded
/// in an IPv6 address that leads to it, or `ip`.
pub(super) fn reached(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(v6) if !v6.is_loopback() && !v6.is_unspecified() => embedded(v6).map_or(ip, IpAddr::V4),
        _ => ip,
    }
}

/// Returns the IPv4 address embedded in an IPv6 address: mapped, compatible, translated, NAT64, 6to4 or ISATAP.
///
/// A Teredo address embeds one as well, but is refused in any case.
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match ip.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(joined(high, low)),
        _ => None,
    }
}

/// The addresses of cloud metadata services.
static METADATA: LazyLock<Vec<IpAddr>> = LazyLock::new(|| {
    let addresses = LISTS["metadata addresses"].iter();
    addresses
        .map(|address| address.parse().expect("the addresses are constants, and a test reads them"))
        .collect()
});

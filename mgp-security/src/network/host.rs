//! Checks of hosts without resolving them: names by what is known of them, and addresses by whether they are public.

use std::iter;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use mgp_types::{WordLists, word_lists};

use crate::Finding;

/// Checks a name by what is known of it without resolving it. The name is in lower-case ASCII, as URL parsers return
/// it.
pub(super) fn check(name: &str) -> Result<(), Finding> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if is_metadata_name(name) {
        return Err(NonPublicReason::Metadata.finding());
    }
    let Some((_, top)) = name.rsplit_once('.') else {
        // A bare name is completed with the search list of the machine, so it leads to the internal network.
        return Err(if name == "localhost" { NonPublicReason::Loopback.finding() } else { inward() });
    };
    if top == "localhost" || is_of("loopback", name) {
        return Err(NonPublicReason::Loopback.finding());
    }
    if LISTS["inward tops"].contains(&top) || is_or_is_below(name, "home.arpa") {
        return Err(inward());
    }
    if is_of("rebinding", name) {
        let why = "the name changes its address from one look-up to the next: name the host itself";
        return Err(Finding::new("rebinding-host", why));
    }
    if is_of("wildcard", name) { check_wildcard(name) } else { dotted(name).map_or(Ok(()), barred) }
}

/// Returns whether clouds serve metadata of the machine under the name, which must have no trailing dot.
pub(super) fn is_metadata_name(name: &str) -> bool {
    LISTS["metadata"].contains(&name)
}

/// Returns whether a name is one of a list, or lies below one.
fn is_of(list: &str, name: &str) -> bool {
    LISTS[list].iter().any(|own| is_or_is_below(name, own))
}

fn is_or_is_below(name: &str, own: &str) -> bool {
    name.strip_suffix(own).is_some_and(|labels| labels.is_empty() || labels.ends_with('.'))
}

fn barred(ip: Ipv4Addr) -> Result<(), Finding> {
    NonPublicReason::of(IpAddr::V4(ip)).map_or(Ok(()), |barrier| Err(barrier.finding()))
}

/// Checks a name of a service that resolves to the address written in the name. The written address decides; a name
/// without a readable address is refused.
fn check_wildcard(name: &str) -> Result<(), Finding> {
    let mut written = dotted(name).into_iter().chain(name.split('.').filter_map(label_address)).peekable();
    if written.peek().is_some() { written.try_for_each(barred) } else { Err(inward()) }
}

/// Returns the address in the first four consecutive labels that form one. Ordinary names do not have four numbers in a
/// row, but all services that resolve to the address in a name read them.
fn dotted(name: &str) -> Option<Ipv4Addr> {
    let octet =
        |label: &str| label.parse::<u8>().ok().filter(|_| label.bytes().all(|byte| byte.is_ascii_digit()));
    let begins = iter::successors(Some(name), |rest| rest.split_once('.').map(|(_, rest)| rest));
    let addresses = begins.filter_map(|rest| {
        let mut octets = rest.split('.').map_while(octet);
        Some(Ipv4Addr::new(octets.next()?, octets.next()?, octets.next()?, octets.next()?))
    });
    // The first address that is not public decides, or else the last one.
    addresses.reduce(|ip, next| if NonPublicReason::of(IpAddr::V4(ip)).is_some() { ip } else { next })
}

/// Returns the address in one label: `127-0-0-1`, `app-127-0-0-1` or `7f000001`.
fn label_address(label: &str) -> Option<Ipv4Addr> {
    if label.len() == 8
        && let Ok(number) = u32::from_str_radix(label, 16)
    {
        return Some(Ipv4Addr::from(number));
    }
    let mut parts = label.rsplit('-');
    let mut octets = [0_u8; 4];
    for octet in octets.iter_mut().rev() {
        *octet = parts.next()?.parse().ok()?;
    }
    Some(Ipv4Addr::from(octets))
}

fn inward() -> Finding {
    let why = "the name is one of an internal network: name a host of the public one, in full";
    Finding::new("internal-host", why)
}

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

/// The lists of `hosts.txt`, which explains each.
pub(super) static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("hosts.txt")));

/// The addresses of cloud metadata services.
static METADATA: LazyLock<Vec<IpAddr>> = LazyLock::new(|| {
    let read = |address: &&str| address.parse().expect("the addresses are constants, and a test reads them");
    LISTS["metadata addresses"].iter().map(read).collect()
});

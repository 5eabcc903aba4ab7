//! Checks of host names by what is known of them without resolving them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use mgp_types::{WordLists, word_lists};

use crate::Finding;

use super::address::NonPublicReason;

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
    let mut found = false;
    for ip in dotted(name).into_iter().chain(name.split('.').filter_map(label_address)) {
        barred(ip)?;
        found = true;
    }
    if found { Ok(()) } else { Err(inward()) }
}

/// Returns the address in the first four consecutive labels that form one. Ordinary names do not have four numbers in a
/// row, but all services that resolve to the address in a name read them.
fn dotted(name: &str) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut run = 0;
    let mut last = None;
    for label in name.split('.') {
        let number = label.parse::<u8>().ok().filter(|_| label.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(number) = number else {
            run = 0;
            continue;
        };
        octets.rotate_left(1);
        octets[3] = number;
        run += 1;
        if run >= 4 {
            let ip = Ipv4Addr::from(octets);
            if NonPublicReason::of(IpAddr::V4(ip)).is_some() {
                return Some(ip);
            }
            last = Some(ip);
        }
    }
    last
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

/// The lists of `hosts.txt`, which explains each.
pub(super) static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("hosts.txt")));

//! Checks of host names by what is known of them without resolving them.

use std::net::{IpAddr, Ipv4Addr};

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
    if top == "localhost" || LOOPBACK_NAMES.iter().any(|own| is_or_is_below(name, own)) {
        return Err(NonPublicReason::Loopback.finding());
    }
    if INWARD_TOPS.contains(&top) || is_or_is_below(name, "home.arpa") {
        return Err(inward());
    }
    if REBINDING_NAMES.iter().any(|own| is_or_is_below(name, own)) {
        return Err(Finding::new(
            "rebinding-host",
            "the name changes its address from one look-up to the next: name the host itself",
        ));
    }
    if WILDCARD_NAMES.iter().any(|own| is_or_is_below(name, own)) {
        return check_wildcard(name);
    }
    match dotted(name) {
        Some(ip) => barred(ip),
        None => Ok(()),
    }
}

/// Returns whether clouds serve metadata of the machine under the name, which must have no trailing dot.
pub(super) fn is_metadata_name(name: &str) -> bool {
    METADATA_NAMES.contains(&name)
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
    Finding::new(
        "internal-host",
        "the name is one of an internal network: name a host of the public one, in full",
    )
}

/// The names under which clouds serve metadata of the machine, besides those that are recognized as internal by their
/// form.
const METADATA_NAMES: [&str; 11] = [
    "metadata", "instance-data", "rancher-metadata", "metadata.google.internal", "metadata.goog",
    "metadata.azure.internal", "instance-data.ec2.internal", "metadata.tencentyun.com",
    "metadata.packet.net", "metadata.platformequinix.com", "api.metadata.cloud.ibm.com",
];

/// The top-level labels that never lead to the public network: reserved ones, and those that networks use internally.
const INWARD_TOPS: [&str; 18] = [
    "default", "local", "internal", "lan", "home", "corp", "intranet", "private", "localdomain",
    "localdomain4", "localdomain6", "test", "svc", "consul", "docker", "kubernetes", "workgroup", "mshome",
];

/// Public names whose only purpose is to resolve to this machine.
const LOOPBACK_NAMES: [&str; 13] = [
    "localtest.me", "lvh.me", "vcap.me", "fuf.me", "ulh.us", "lacolhost.com", "smackaho.st", "local.gd",
    "localhost.direct", "lndo.site", "ddev.site", "127-0-0-1.org.uk", "spoofed.burpcollaborator.net",
];

/// Services that resolve to the address written in the name.
const WILDCARD_NAMES: [&str; 11] = [
    "nip.io", "sslip.io", "xip.io", "xip.name", "xip.lhjmmc.com", "traefik.me", "backname.io", "ip.dev",
    "nip.plus", "local-ip.co", "local-ip.sh",
];

/// Services whose names resolve to different addresses at different times (DNS rebinding).
const REBINDING_NAMES: [&str; 7] =
    ["rbndr.us", "1u.ms", "rebind.network", "rebind.it", "rebindtest.com", "whonow.org", "dnsrebind.it"];

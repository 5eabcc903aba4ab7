//! Addresses of services that hand out the credentials of a machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether the text is the URL of a metadata service, which hands out the credentials of the machine that asks.
///
/// A check of code does not judge addresses of networks in general: only the place where code runs can tell which of
/// them it may reach.
pub(super) fn is_metadata_url(text: &str) -> bool {
    let text = text.trim();
    let Some((_, rest)) = text.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    let name = name.trim_end_matches('.').to_lowercase();
    METADATA_NAMES.contains(&&*name) || address(&name).is_some_and(is_metadata)
}

fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local() || METADATA_ADDRESSES.contains(&address),
        IpAddr::V6(address) => match address.to_ipv4() {
            Some(inner) => is_metadata(inner.into()),
            None => address == AWS_V6 || address.is_unicast_link_local(),
        },
    }
}

/// Parses an address in any form that resolvers accept: `169.254.169.254`, `2852039166`, `0xa9.0xfe.43518`, IPv6.
fn address(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(Into::into);
    }
    let parts: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, leading) = parts.split_last()?;
    if leading.len() > 3 || leading.iter().any(|part| *part > 255) {
        return None;
    }
    let high = leading.iter().zip([24, 16, 8]).fold(0, |sum, (part, shift)| sum | part << shift);
    Some(Ipv4Addr::from(high | last).into())
}

fn number(text: &str) -> Option<u32> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).ok();
    }
    match text.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => u32::from_str_radix(digits, 8).ok(),
        _ => text.parse().ok(),
    }
}

const METADATA_NAMES: [&str; 4] = ["metadata.google.internal", "metadata", "metadata.goog", "instance-data"];
const METADATA_ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];
const AWS_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metadata_service_is_known_in_every_spelling() {
        for url in [
            "http://169.254.169.254/latest",
            "HTTP://user@169.254.169.254:80/",
            "http://2852039166/",
            "http://0xa9.0xfe.0251.254",
            "http://[::ffff:169.254.169.254]/x",
            "http://[fd00:ec2::254]",
            "https://metadata.google.internal./computeMetadata",
        ] {
            assert!(is_metadata_url(url), "{url}");
        }
        for text in
            ["https://api.example.com/metadata", "http://localhost:8080", "169.254.169.254", "", "x://"]
        {
            assert!(!is_metadata_url(text), "{text}");
        }
    }
}

//! Patterns of hosts and ports, in the notation of the configuration.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::Host;

use super::host::{NonPublicReason, is_metadata_name, reached};

/// A pattern of hosts: one host, `*.` before a name for every name below it, or a network such as `10.0.0.0/8`, each
/// with an optional port.
///
/// ```
/// use mgp_security::network::HostPattern;
///
/// for text in ["example.com", "*.example.com:8443", "localhost:*", "10.0.0.7", "10.0.0.0/8", "[fd00::7]:80"] {
///     assert!(text.parse::<HostPattern>().is_ok());
/// }
/// assert!("exa mple.com".parse::<HostPattern>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    hosts: HostMatch,
    /// The port that is covered; `None` covers every port.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostMatch {
    Name(Box<str>),
    Below(Box<str>),
    Address(IpAddr),
    Network { base: IpAddr, bits: u8 },
}

impl HostPattern {
    /// Returns whether the pattern covers the name. A wildcard never covers the name of a cloud's metadata service.
    pub(super) fn covers_name(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        match &self.hosts {
            HostMatch::Name(own) => **own == *name,
            HostMatch::Below(own) => {
                name.strip_suffix(&**own).is_some_and(|labels| labels.ends_with('.'))
                    && !is_metadata_name(name)
            }
            HostMatch::Address(_) | HostMatch::Network { .. } => false,
        }
    }

    /// Returns whether the pattern covers the address. The notation does not matter: the address that packets arrive at
    /// is compared. A network never covers the address of a cloud's metadata service.
    pub(super) fn covers_address(&self, ip: IpAddr) -> bool {
        let led_to = reached(ip);
        match &self.hosts {
            HostMatch::Address(own) => *own == led_to,
            HostMatch::Network { base, bits } => {
                is_within(led_to, *base, *bits) && NonPublicReason::of(ip) != Some(NonPublicReason::Metadata)
            }
            HostMatch::Name(_) | HostMatch::Below(_) => false,
        }
    }

    /// Returns whether the pattern certainly covers the port; `None` is an unknown port.
    pub(super) fn has_port(&self, port: Option<u16>) -> bool {
        self.port.is_none_or(|own| port == Some(own))
    }

    /// Returns whether the pattern may cover the port; `None` is an unknown port.
    pub(super) fn may_have_port(&self, port: Option<u16>) -> bool {
        port.is_none() || self.has_port(port)
    }
}

/// Returns whether the first `bits` bits of two addresses of the same family are equal.
fn is_within(ip: IpAddr, base: IpAddr, bits: u8) -> bool {
    ip.is_ipv4() == base.is_ipv4()
        && (leading(ip) ^ leading(base)).checked_shr(128 - u32::from(bits)).unwrap_or(0) == 0
}

/// Returns the bits of an address, the first of which is the highest of the number.
fn leading(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(ip.to_bits()) << 96,
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

impl FromStr for HostPattern {
    type Err = InvalidHostPattern;

    fn from_str(text: &str) -> Result<Self, InvalidHostPattern> {
        if let Some((base, bits)) = text.split_once('/') {
            return network(base, bits).map(|hosts| Self { hosts, port: None });
        }
        let (written, port) = split_port(text)?;
        let (name, below) = written.strip_prefix("*.").map_or((written, false), |name| (name, true));
        let hosts = match (Host::parse(name).map_err(|_| InvalidHostPattern)?, below) {
            (Host::Domain(name), below) => {
                let name: Box<str> = name.strip_suffix('.').unwrap_or(&name).into();
                if name.is_empty() || name.contains('*') {
                    return Err(InvalidHostPattern);
                }
                if below { HostMatch::Below(name) } else { HostMatch::Name(name) }
            }
            (Host::Ipv4(ip), false) => HostMatch::Address(IpAddr::V4(ip)),
            (Host::Ipv6(ip), false) => HostMatch::Address(reached(IpAddr::V6(ip))),
            _ => return Err(InvalidHostPattern),
        };
        Ok(Self { hosts, port })
    }
}

/// Splits a pattern into host and port. An address in brackets keeps them; `:*`, like a missing port, means every port.
fn split_port(text: &str) -> Result<(&str, Option<u16>), InvalidHostPattern> {
    let after_host = if text.starts_with('[') { text.find(']').map_or(text.len(), |at| at + 1) } else { 0 };
    let Some(colon) = text[after_host..].find(':') else { return Ok((text, None)) };
    let (host, port) = text.split_at(after_host + colon);
    let port = &port[1..];
    if port == "*" {
        return Ok((host, None));
    }
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let number = port.parse::<u16>().ok().filter(|number| is_number && *number > 0);
    Ok((host, Some(number.ok_or(InvalidHostPattern)?)))
}

/// Reads a network such as `10.0.0.0/8` or `fd00::/8`. The bits after the prefix must be zero: if they are not, the
/// author means something else.
fn network(base: &str, bits: &str) -> Result<HostMatch, InvalidHostPattern> {
    let unbracketed = base.strip_prefix('[').and_then(|base| base.strip_suffix(']')).unwrap_or(base);
    let base: IpAddr = unbracketed.parse().map_err(|_| InvalidHostPattern)?;
    let is_number = bits.bytes().all(|byte| byte.is_ascii_digit());
    let bits: u8 = bits.parse().ok().filter(|_| is_number).ok_or(InvalidHostPattern)?;
    let rest_is_zero = leading(base).checked_shl(bits.into()).unwrap_or(0) == 0;
    let most = if base.is_ipv4() { 32 } else { 128 };
    if (1..=most).contains(&bits) && rest_is_zero {
        Ok(HostMatch::Network { base, bits })
    } else {
        Err(InvalidHostPattern)
    }
}

/// The error for a text that is not a valid pattern of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no host: write one such as `localhost`, `localhost:3000`, `*.internal:8443`, `[::1]:*` or the network `10.0.0.0/8`"
)]
#[non_exhaustive]
pub struct InvalidHostPattern;

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            HostMatch::Name(name) => f.write_str(name)?,
            HostMatch::Below(name) => write!(f, "*.{name}")?,
            HostMatch::Address(IpAddr::V6(ip)) => write!(f, "[{ip}]")?,
            HostMatch::Address(ip) => ip.fmt(f)?,
            HostMatch::Network { base, bits } => write!(f, "{base}/{bits}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_read_back_as_it_is_written() {
        for text in [
            "example.com", "example.com:443", "*.internal:8443", "10.0.0.7:1", "10.0.0.0/8", "fd00::/8",
            "[fd00::7]:80", "[::1]",
        ] {
            assert_eq!(text.parse::<HostPattern>().unwrap().to_string(), text);
        }
        assert_eq!("LocalHost:*".parse::<HostPattern>(), "localhost".parse());
        assert_eq!("0x7f.1:80".parse::<HostPattern>(), "127.0.0.1:80".parse());
        assert_eq!("[::ffff:10.0.0.7]".parse::<HostPattern>(), "10.0.0.7".parse());
    }

    #[test]
    fn what_could_mean_two_things_is_no_pattern() {
        for text in [
            "", ":80", "*", "*.", "*:80", "a:b", "a:", "a:0", "a:65536", "a:+1", "a:1:2", "::1", "[::1",
            "10.0.0.1/8", "10.0.0.0/0", "10.0.0.0/33", "10.0.0.0/8:80", "*.10.0.0.1", "http://a", "a/b",
            "10.0.0.0/+8",
        ] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
    }
}

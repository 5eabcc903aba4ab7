//! The check of hosts and ports against a scope.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::arguments::ArgumentFacts;
use super::glob::{Glob, GlobKind};
use super::path::scheme_is_file;
use super::{ScopeError, refuse_if};
use crate::Finding;

/// The bounds of a scope on hosts and ports.
#[derive(Debug, Clone)]
pub(super) struct HostScope {
    allowed: Box<[Glob]>,
    denied: Box<[Glob]>,
    ports: Box<[u16]>,
}

impl HostScope {
    pub(super) fn new(allowed: &[String], denied: &[String], ports: &[u16]) -> Result<Self, ScopeError> {
        let read = |patterns: &[String]| {
            let pattern = |text: &String| Glob::new(text.trim_end_matches('.'), GlobKind::FoldedText);
            patterns.iter().map(pattern).collect::<Result<_, _>>()
        };
        Ok(Self { allowed: read(allowed)?, denied: read(denied)?, ports: ports.into() })
    }

    pub(super) fn check(&self, facts: &ArgumentFacts<'_>) -> Result<(), Finding> {
        if self.allowed.is_empty() && self.denied.is_empty() && self.ports.is_empty() {
            return Ok(());
        }
        let opaque =
            "access was granted to certain hosts, and a command or code does not show which it talks to";
        refuse_if(facts.code || !facts.commands.is_empty(), ("scope-opaque", opaque))?;
        let unnamed = facts.others.iter().chain(&facts.paths).filter(|text| looks_like_place(text));
        let mut named = facts.hosts.iter().chain(unnamed).peekable();
        let is_host_missing = named.peek().is_none();
        named.try_for_each(|text| self.check_place(text, facts))?;
        // A bare name may also be that of a host.
        let is_short = |text: &&&str| text.len() <= MAX_HOST_BYTES && !text.contains(char::is_whitespace);
        let mut places = facts.others.iter().filter(is_short).filter_map(|text| address(text));
        refuse_if(!self.denied.is_empty() && places.any(|(host, _)| self.is_denied(&host)), DENIED)?;
        if !self.ports.is_empty() {
            facts.ports.iter().try_for_each(|port| self.check_port(*port))?;
        }
        let is_needed = if self.ports.is_empty() { !self.allowed.is_empty() } else { facts.ports.is_empty() };
        let missing = "the arguments do not show which host is meant; give it as `url`";
        refuse_if(is_host_missing && is_needed, ("scope-host", missing))
    }

    fn check_place(&self, text: &str, facts: &ArgumentFacts<'_>) -> Result<(), Finding> {
        let Some((host, port)) = address(text) else {
            return Err(Finding::new("scope-host-form", "give a whole address, like `https://example.com/`"));
        };
        refuse_if(self.is_denied(&host), DENIED)?;
        let is_granted = self.allowed.is_empty() || self.allowed.iter().any(|glob| glob.matches(&host));
        refuse_if(!is_granted, ("scope-host", "this host was not granted"))?;
        match port {
            _ if self.ports.is_empty() => Ok(()),
            // The port is given beside the host, and is checked there.
            None if !facts.ports.is_empty() => Ok(()),
            port => self.check_port(port),
        }
    }

    fn check_port(&self, port: Option<u16>) -> Result<(), Finding> {
        let why = match port {
            Some(port) if self.ports.contains(&port) => return Ok(()),
            Some(_) => "this port was not granted",
            None => "the arguments do not show which port is meant; give it with the host",
        };
        Err(Finding::new("scope-port", why))
    }

    fn is_denied(&self, host: &str) -> bool {
        self.denied.iter().any(|glob| glob.matches(host))
    }
}

/// Returns the host and port that a text leads to.
fn address(text: &str) -> Option<(String, Option<u16>)> {
    if text.len() > MAX_URL_BYTES {
        return None;
    }
    let has_scheme = text.contains("://");
    let url = if has_scheme {
        Url::parse(text).ok()?
    } else {
        // An IPv6 address has no brackets where it is not part of a URL.
        let bracketed = text.parse::<Ipv6Addr>().map(|ip| format!("http://[{ip}]/"));
        Url::parse(&bracketed.unwrap_or_else(|_| format!("http://{}", text.trim_start_matches('/')))).ok()?
    };
    let host = match url.host()? {
        // The host of another scheme is not normalized like that of a web scheme, so it is parsed once more here.
        Host::Domain(name) if has_scheme && !url.scheme().starts_with("http") => Host::parse(name).ok()?,
        host => host.to_owned(),
    };
    let host = match host {
        Host::Domain(name) => name,
        Host::Ipv4(ip) => ip.to_string(),
        Host::Ipv6(ip) => canonical(ip),
    };
    let host = host.trim_end_matches('.').to_owned();
    let port = if has_scheme { url.port_or_known_default() } else { url.port() };
    (!host.is_empty()).then_some((host, port))
}

/// Returns the address as text, as an IPv4 address if it is one written as IPv6.
fn canonical(ip: Ipv6Addr) -> String {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => match ip.segments() {
            // The NAT64 prefix, under which translators carry IPv4 addresses.
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                let [a, b] = high.to_be_bytes();
                let [c, d] = low.to_be_bytes();
                Ipv4Addr::new(a, b, c, d).to_string()
            }
            _ => ip.to_string(),
        },
    }
}

fn looks_like_place(text: &str) -> bool {
    let slashed = text.trim_start().to_ascii_lowercase();
    let web = ["http:", "https:", "ws:", "wss:", "ftp:"].iter().any(|scheme| slashed.starts_with(scheme));
    !scheme_is_file(text) && (text.contains("://") || web || text.trim().parse::<IpAddr>().is_ok())
}

/// The finding about what is denied.
const DENIED: (&str, &str) = ("scope-host", "this host is closed");

/// The largest length of a host's name, in bytes.
const MAX_HOST_BYTES: usize = 255;
/// The largest length of a URL that is read, in bytes.
const MAX_URL_BYTES: usize = 8192;

//! The check of `Host` and `Origin`, which keeps web pages from using a server on the visitor's own machine.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Uri};

use super::config::HttpConfig;

impl HttpConfig {
    /// Returns whether a request beside the protocol, such as one for the server's health, may be answered.
    ///
    /// The answer is no if a web page from elsewhere can have sent it. A monitor of the server knows it by its address,
    /// or sends no `Host` at all; a page that has a name of its own lead here sends that name.
    pub fn answers_beside(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        let named = uri.authority().map(|authority| authority.as_str().as_bytes());
        let mut hosts = headers.get_all(HOST).iter().map(http::HeaderValue::as_bytes).chain(named);
        hosts.all(|host| is_address(host) || self.accepts_host(host))
            && headers.get_all(ORIGIN).iter().all(|origin| self.accepts_origin(origin.as_bytes()))
    }

    /// Returns whether a request may name `host`; the port does not matter.
    pub(super) fn accepts_host(&self, host: &[u8]) -> bool {
        if self.any_host {
            return true;
        }
        let Some(name) = std::str::from_utf8(host).ok().and_then(without_port) else { return false };
        // An allowed host may carry a port, or lack the brackets of IPv6.
        let is = |allowed: &str| without_port(allowed).unwrap_or(allowed).eq_ignore_ascii_case(name);
        is_loopback(name) || self.hosts.iter().any(|allowed| is(allowed))
    }

    /// Returns whether a web page of this `origin` may send requests.
    pub(super) fn accepts_origin(&self, origin: &[u8]) -> bool {
        let Some(origin) = std::str::from_utf8(origin).ok().and_then(origin_parts) else { return false };
        let is = |allowed: [&str; 3]| {
            allowed.iter().zip(origin).all(|(one, other)| one.eq_ignore_ascii_case(other))
        };
        let [scheme, host, _] = origin;
        (is_loopback(host) && !default_port(scheme).is_empty())
            || self.origins.iter().any(|allowed| origin_parts(allowed).is_some_and(is))
    }
}

/// Returns the scheme, the host and the port of an origin.
fn origin_parts(origin: &str) -> Option<[&str; 3]> {
    let (scheme, rest) = origin.split_once("://")?;
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if authority.contains(['/', '@', '?', '#']) {
        return None;
    }
    let host = without_port(authority)?;
    let port = authority[host.len()..].trim_start_matches([':', ']']);
    Some([scheme, host, if port.is_empty() { default_port(scheme) } else { port }])
}

/// Returns the usual port of a scheme of the web; for any other scheme the text is empty.
fn default_port(scheme: &str) -> &'static str {
    match scheme {
        _ if scheme.eq_ignore_ascii_case("http") => "80",
        _ if scheme.eq_ignore_ascii_case("https") => "443",
        _ => "",
    }
}

/// Returns the host of an authority; that of an IPv6 address keeps its brackets.
fn without_port(authority: &str) -> Option<&str> {
    let bytes = authority.as_bytes();
    let host_len = if bytes.first() == Some(&b'[') {
        memchr::memchr(b']', bytes)? + 1
    } else {
        bytes.iter().position(|&byte| byte == b':').unwrap_or(bytes.len())
    };
    let (host, port) = authority.split_at_checked(host_len)?;
    let digits = match port.as_bytes() {
        [] => &b"0"[..],
        [b':', digits @ ..] => digits,
        _ => return None,
    };
    let valid = !host.is_empty() && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    valid.then_some(host)
}

fn is_address(host: &[u8]) -> bool {
    let name = std::str::from_utf8(host).ok().and_then(without_port);
    name.is_some_and(|name| name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok())
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "localhost" | "[::1]") || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_hosts_are_accepted_unless_told() {
        let config = HttpConfig::default().allow_host("mcp.example.com");
        for host in ["localhost", "LocalHost:80", "127.0.0.1:9000", "[::1]", "[::1]:1", "MCP.example.com:443"]
        {
            assert!(config.accepts_host(host.as_bytes()), "{host}");
        }
        for host in [
            "", ":80", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:x",
            "localhost:", "evil.example:80", "[::1", "[::1]x", "a]", "127.0.0.2", "user@localhost",
            "localhost:80:80",
        ] {
            assert!(!config.accepts_host(host.as_bytes()), "{host}");
        }
        assert!(HttpConfig::default().allow_any_host().accepts_host(b"evil.example"));
    }

    #[test]
    fn what_stands_beside_the_protocol_is_told_to_no_page_from_elsewhere() {
        let config = HttpConfig::default().allow_host("mcp.example.com");
        let answers = |given: &[(http::HeaderName, &str)], uri: &str| {
            let given = given.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
            config.answers_beside(&given.collect(), &uri.parse().unwrap())
        };
        for host in ["127.0.0.1:7332", "localhost", "10.1.2.3:7332", "[fd00::1]:7332", "mcp.example.com"] {
            assert!(answers(&[(HOST, host)], "/metrics"), "{host}");
        }
        assert!(answers(&[], "/healthz"), "older probes send none");
        assert!(!answers(&[(HOST, "evil.example:7332")], "/metrics"));
        assert!(!answers(&[(HOST, "10.1.2.3.evil.example")], "/metrics"));
        assert!(!answers(&[], "http://evil.example/metrics"));
        assert!(answers(&[(HOST, "localhost"), (ORIGIN, "http://localhost:3000")], "/metrics"));
        assert!(!answers(&[(HOST, "localhost"), (ORIGIN, "https://evil.example")], "/metrics"));
    }

    #[test]
    fn only_loopback_origins_are_accepted_unless_told() {
        let config =
            HttpConfig::default().allow_origin("https://app.example.com").allow_origin("http://b:8080");
        for origin in [
            "http://localhost", "http://localhost:6274", "https://127.0.0.1:1", "http://[::1]:3",
            "https://app.example.com", "https://app.example.com:443", "HTTPS://APP.example.com",
            "http://b:8080",
        ] {
            assert!(config.accepts_origin(origin.as_bytes()), "{origin}");
        }
        for origin in [
            "",
            "null",
            "http://evil.example",
            "http://app.example.com",
            "https://app.example.com:444",
            "http://b",
            "http://localhost.evil.example",
            "http://localhost@evil.example",
            "http://evil.example/localhost",
            "chrome-extension://localhost",
            "localhost",
        ] {
            assert!(!config.accepts_origin(origin.as_bytes()), "{origin}");
        }
    }
}

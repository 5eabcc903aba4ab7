//! URLs of servers: parsing, comparing origins, resolving references.

use http::{HeaderValue, Uri};
use url::Url;

/// Returns whether both URLs have the same scheme, host and port.
pub(super) fn same_origin(one: &Uri, other: &Uri) -> bool {
    let scheme = |uri: &Uri| uri.scheme_str().map(str::to_ascii_lowercase);
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    scheme(one) == scheme(other) && host(one) == host(other) && port(one) == port(other)
}

/// Parses the URL of a server: absolute, of HTTP, and without credentials in it.
pub(super) fn parse(url: &str) -> Option<Uri> {
    let url = url.split('#').next()?;
    let uri: Uri = url.parse().ok()?;
    let known = port(&uri).is_some() && uri.host().is_some_and(|host| !host.is_empty());
    (known && !uri.authority()?.as_str().contains('@')).then_some(uri)
}

/// Returns the value of the `Host` header of a request to this URL.
pub(super) fn host(url: &Uri) -> Option<HeaderValue> {
    let host = match (url.port_u16(), url.scheme_str()) {
        (Some(80), Some("http")) | (Some(443), Some("https")) => url.host(),
        _ => url.authority().map(http::uri::Authority::as_str),
    };
    host.and_then(|host| HeaderValue::from_str(host).ok())
}

/// Resolves a reference against the URL it was found at; returns `None` if the client does not follow it.
pub(super) fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let base = Url::parse(&base.to_string()).ok()?;
    parse(base.join(reference).ok()?.as_str())
}

fn port(uri: &Uri) -> Option<u16> {
    let default = match uri.scheme_str()? {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    Some(uri.port_u16().unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_a_port_unless_it_is_the_usual_one() {
        for (url, expected) in [
            ("http://a.example:80/x", "a.example"),
            ("https://a.example:443/", "a.example"),
            ("http://a.example:443/", "a.example:443"),
            ("https://a.example", "a.example"),
            ("http://[::1]:8080/", "[::1]:8080"),
        ] {
            assert_eq!(host(&parse(url).unwrap()).unwrap(), expected, "{url}");
        }
    }

    #[test]
    fn references_resolve_as_rfc_3986_says() {
        let base = parse("http://a.example:8080/b/c/d;p?q").unwrap();
        for (reference, expected) in [
            ("g", "http://a.example:8080/b/c/g"),
            ("./g/", "http://a.example:8080/b/c/g/"),
            ("/g", "http://a.example:8080/g"),
            ("?y", "http://a.example:8080/b/c/d;p?y"),
            ("g?y#s", "http://a.example:8080/b/c/g?y"),
            ("", "http://a.example:8080/b/c/d;p?q"),
            ("..", "http://a.example:8080/b/"),
            ("../../../g", "http://a.example:8080/g"),
            ("//other/g", "http://other/g"),
            ("https://other/g", "https://other/g"),
            ("g?to=http://x", "http://a.example:8080/b/c/g?to=http://x"),
        ] {
            assert_eq!(resolve(&base, reference).unwrap().to_string(), expected, "{reference}");
        }
        for reference in
            ["ftp://a.example/", "javascript:alert(1)", "http://user:secret@a.example/", "http://"]
        {
            assert_eq!(resolve(&base, reference), None, "{reference}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let same = |one, other| same_origin(&parse(one).unwrap(), &parse(other).unwrap());
        assert!(same("http://a/x", "http://A:80/y"));
        assert!(same("https://a:443", "https://a/"));
        assert!(!same("http://a", "https://a"));
        assert!(!same("http://a", "http://a:8080"));
        assert!(!same("http://a", "http://b"));
    }
}

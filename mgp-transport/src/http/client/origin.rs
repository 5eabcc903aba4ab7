//! URLs of servers: parsing, comparing origins, resolving references.

use http::{HeaderValue, Uri};

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

/// Resolves a reference against the URL it was found at (RFC 3986 §5); returns `None` if the client does not follow it.
pub(super) fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.split('#').next()?;
    if has_scheme(reference) {
        return parse(reference);
    }
    let scheme = base.scheme_str()?;
    if reference.starts_with("//") {
        return parse(&format!("{scheme}:{reference}"));
    }
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (reference, None),
    };
    let (path, query) = if path.is_empty() {
        (base.path().to_owned(), query.or_else(|| base.query()))
    } else if path.starts_with('/') {
        (without_dots(path), query)
    } else {
        let folder = base.path().rfind('/').map_or("/", |end| &base.path()[..=end]);
        (without_dots(&format!("{folder}{path}")), query)
    };
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    parse(&format!("{scheme}://{}{path}{query}", base.authority()?))
}

fn port(uri: &Uri) -> Option<u16> {
    let default = match uri.scheme_str()? {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    Some(uri.port_u16().unwrap_or(default))
}

fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
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

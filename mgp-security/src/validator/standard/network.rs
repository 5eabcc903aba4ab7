//! The validator `network_restricted`.

use std::borrow::Cow;
use std::sync::Arc;

use mgp_types::mgp::ValidatorName;

use crate::Finding;
use crate::network::{
    NetworkPolicy, check_host, check_nested, check_text, check_url, is_network_scheme, percent_decoded,
};
use crate::tool::ArgumentNature;
use crate::validator::call::ValidatedCall;
use crate::validator::path::ROOT_FOLDERS;
use crate::validator::validate::{BlockedCall, Validator};

/// The validator `network_restricted`: no argument may lead to this machine, its network, or the metadata service of a
/// cloud.
#[derive(Clone, Default)]
pub struct NetworkValidator {
    policy: NetworkPolicy,
    owns: Option<Arc<IsOwn>>,
    /// True if `data:` URLs, which contain their page themselves, pass.
    pages_in_urls: bool,
}

/// A function that returns whether a scheme is the server's own.
type IsOwn = dyn Fn(&str) -> bool + Send + Sync;

impl NetworkValidator {
    /// Creates a validator that applies `policy`.
    pub fn new(policy: NetworkPolicy) -> Self {
        Self { policy, owns: None, pages_in_urls: false }
    }

    /// Allows URIs with schemes of the server's own, which `owns` recognizes: the server lists resources under them,
    /// and no other program can follow them. Schemes that name a host or a file never count as such.
    #[must_use]
    pub fn with_own_schemes(mut self, owns: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.owns = Some(Arc::new(owns));
        self
    }

    /// Allows `data:` URLs, which browsers show without any request, if no address in them is refused. Base64-encoded
    /// content passes only if it is a picture, because an encoded page is not inspected.
    #[must_use]
    pub fn with_pages_in_urls(mut self) -> Self {
        self.pages_in_urls = true;
        self
    }

    fn check_url(&self, text: &str) -> Result<(), Finding> {
        if text.eq_ignore_ascii_case(EMPTY_PAGE) {
            return Ok(());
        }
        if self.pages_in_urls
            && let Some(data) = Data::read(text)
        {
            return data.check(&self.policy);
        }
        if is_place_at_server(text) {
            return check_text(text, &self.policy);
        }
        if let Some(whole) = completed(text) {
            return check_url(&whole, &self.policy);
        }
        match text.split_once(':').filter(|(scheme, _)| self.is_own(scheme)) {
            Some((_, rest)) => check_text(rest.trim_start_matches('/'), &self.policy),
            None => check_url(text, &self.policy),
        }
    }

    fn is_own(&self, scheme: &str) -> bool {
        let leads_out =
            is_network_scheme(scheme) || FILE_SCHEMES.iter().any(|own| own.eq_ignore_ascii_case(scheme));
        !leads_out && self.owns.as_ref().is_some_and(|owns| owns(scheme))
    }
}

impl Validator for NetworkValidator {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::NetworkRestricted
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        for argument in &call.arguments {
            argument.check(|text| match argument.nature {
                ArgumentNature::Url | ArgumentNature::Host if text.is_empty() => Ok(()),
                ArgumentNature::Url => self.check_url(text),
                ArgumentNature::Host => check_host(text, &self.policy),
                // Text for people is not fetched by any program, and may mention localhost.
                ArgumentNature::Text => Ok(()),
                _ => check_text(text, &self.policy),
            })?;
        }
        Ok(())
    }
}

mgp_types::partial_debug!(NetworkValidator, self => policy: self.policy);

/// Returns whether a text is the path of an address whose host the server knows, such as `/api/search`.
fn is_place_at_server(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('/').filter(|inner| !inner.starts_with('/')) else { return false };
    let first = inner.split(['/', '?', '#']).next().unwrap_or_default();
    let is_file = ROOT_FOLDERS.iter().any(|folder| folder.eq_ignore_ascii_case(first));
    let leads_elsewhere = text.contains(['\\', '%']) || text.split('/').any(|part| part.starts_with('.'));
    !is_file
        && !leads_elsewhere
        && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// Returns the complete URL for an address that people write without a scheme: `example.com/docs`, `localhost:3000`,
/// `//example.com`.
fn completed(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix("//") {
        return Some(format!("https://{rest}"));
    }
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) =
        authority.rsplit_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    let is_host = is_plain && (host.contains('.') || port.is_some() && !host.is_empty());
    (is_host && port.is_none_or(is_port)).then(|| format!("https://{text}"))
}

/// A `data:` URL, split into its parts.
struct Data<'a> {
    media_type: &'a str,
    is_base64: bool,
    content: &'a str,
}

impl<'a> Data<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once(':')?;
        let (header, content) = rest.split_once(',')?;
        let mut parts = header.split(';');
        let media_type = parts.next().unwrap_or_default();
        let is_base64 = parts.any(|part| part.trim().eq_ignore_ascii_case("base64"));
        scheme.eq_ignore_ascii_case("data").then_some(Self { media_type, is_base64, content })
    }

    fn check(&self, policy: &NetworkPolicy) -> Result<(), Finding> {
        if self.is_base64 {
            let is_picture = PICTURES.iter().any(|known| known.eq_ignore_ascii_case(self.media_type));
            return if is_picture {
                Ok(())
            } else {
                Err(Finding::new("encoded-page", "the page in the URL is encoded: write it as plain text"))
            };
        }
        // A browser decodes the content once. The addresses of metadata services are found in every layer of encoding.
        let page = percent_decoded(self.content).map_or(Cow::Borrowed(self.content), Cow::Owned);
        check_text(&page, policy)?;
        check_nested(&page)
    }
}

/// The URL that browsers use for an empty page.
const EMPTY_PAGE: &str = "about:blank";

/// The schemes that programs read without a host.
const FILE_SCHEMES: [&str; 5] = ["file", "data", "javascript", "jar", "blob"];

/// The media types of pictures that contain no programs.
const PICTURES: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_is_the_servers_own_if_it_lists_resources_under_it_and_nobody_else_can_follow_it() {
        let network = NetworkValidator::default()
            .with_own_schemes(|scheme| ["memory", "file", "gopher"].contains(&scheme));
        assert!(network.check_url("memory://insights").is_ok());
        for url in
            ["other://insights", "file:///x", "gopher://example.com/", "memory://http://169.254.169.254/"]
        {
            assert!(network.check_url(url).is_err(), "{url}");
        }
        assert!(NetworkValidator::default().check_url("memory://insights").is_err());
    }

    #[test]
    fn a_browser_may_show_pages_that_stand_in_the_url_and_lead_nowhere_that_is_refused() {
        let browser = NetworkValidator::new(NetworkPolicy::default().allow_loopback()).with_pages_in_urls();
        for url in [
            "data:text/html,<h1>Hi</h1>",
            "data:,x",
            "data:text/html;charset=utf-8,%3Ca%20href=%22http://localhost:3000/%22%3E",
            "data:image/png;base64,iVBORw0KGgo=",
            "about:blank",
            "localhost:3000/a",
            "http://127.0.0.1:8080/",
        ] {
            assert!(browser.check_url(url).is_ok(), "{url}");
        }
        for url in [
            "data:text/html,<img src=http://169.254.169.254/latest>",
            "data:text/html,%3Cimg src=%22http%3A%2F%2F169.254.169.254%2F%22%3E",
            "data:text/html,http%253A%252F%252F169.254.169.254%252F",
            "data:text/html;base64,PGgxPg==",
            "data:image/svg+xml;base64,PGgxPg==",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "http://192.168.0.1/",
        ] {
            assert!(browser.check_url(url).is_err(), "{url}");
        }
        assert!(NetworkValidator::default().check_url("data:,x").is_err());
    }

    #[test]
    fn addresses_are_judged_as_people_write_them() {
        let network = NetworkValidator::default();
        for url in [
            "about:blank", "example.com", "docs.example.com:8443/a?b=c", "//example.com/a", "/api/search?q=x",
        ] {
            assert!(network.check_url(url).is_ok(), "{url}");
        }
        for url in [
            "localhost:3000",
            "127.0.0.1:8080/admin",
            "169.254.169.254/latest/meta-data",
            "//localhost/a",
            "/etc/passwd",
            "/Users/ada/notes",
            "/api/../../etc/passwd",
            "/api/%2e%2e/x",
            "/fetch?url=http://169.254.169.254/",
            "javascript:alert(1)",
            "file:/etc/passwd",
            "user@localhost",
            "word",
        ] {
            assert!(network.check_url(url).is_err(), "{url}");
        }
    }
}

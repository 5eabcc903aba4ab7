//! Where the metadata of issuers stand.

use url::Url;

/// Returns the URLs at which an issuer's metadata may stand, in the order in which they are tried (RFC 8414 and OpenID Connect
/// Discovery); `None` for a text that is no issuer: one that is no URL, or has a query or a fragment.
///
/// ```
/// # use mgp_security::network::issuer_metadata_urls;
/// let urls = issuer_metadata_urls("https://id.example/team").unwrap();
/// assert_eq!(urls[0], "https://id.example/.well-known/oauth-authorization-server/team");
/// ```
pub fn issuer_metadata_urls(issuer: &str) -> Option<Vec<String>> {
    let url = Url::parse(issuer).ok()?;
    if url.query().is_some() || url.fragment().is_some() || !url.has_host() {
        return None;
    }
    let (origin, path) = (url.origin().ascii_serialization(), url.path().trim_end_matches('/'));
    let mut urls = vec![format!("{origin}{OAUTH}{path}"), format!("{origin}{OPENID}{path}")];
    if !path.is_empty() {
        urls.push(format!("{origin}{path}{OPENID}"));
    }
    Some(urls)
}

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_stand_in_front_of_the_path_and_behind_it() {
        let at = |issuer: &str| issuer_metadata_urls(issuer).unwrap();
        let expected = ["oauth-authorization-server", "openid-configuration"];
        for issuer in ["https://id.example", "https://id.example/"] {
            assert_eq!(at(issuer), expected.map(|name| format!("https://id.example/.well-known/{name}")));
        }
        assert_eq!(
            at("https://id.example:8443/team/"),
            [
                "https://id.example:8443/.well-known/oauth-authorization-server/team",
                "https://id.example:8443/.well-known/openid-configuration/team",
                "https://id.example:8443/team/.well-known/openid-configuration",
            ]
        );
        for wrong in ["", "id.example", "https://id.example?a=1", "https://id.example#a", "urn:id"] {
            assert_eq!(issuer_metadata_urls(wrong), None, "{wrong}");
        }
    }
}

//! The digests of images of containers: a tag can be moved by its publisher, a digest cannot.

use http::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use mgp_security::network::Fetcher;
use mgp_types::hex;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use url::Url;

/// Returns the digest of what the tag of an image names now, such as `sha256:…`; `None` if the registry of the image does
/// not say it to everybody.
pub(super) async fn digest(image: &str, fetcher: &Fetcher) -> Option<String> {
    let url = manifest_url(image);
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(MANIFESTS));
    let mut answer = fetcher.get(&url, &headers).await.ok()?;
    if answer.status == StatusCode::UNAUTHORIZED {
        let token_url = token_url(answer.headers.get(WWW_AUTHENTICATE)?.to_str().ok()?)?;
        let given = fetcher.get(token_url.as_str(), &HeaderMap::new()).await.ok()?;
        let GivenToken { token } = serde_json::from_slice(&given.body).ok()?;
        headers.insert(AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}")).ok()?);
        answer = fetcher.get(&url, &headers).await.ok()?;
    }
    let digits = hex::<64>(&Sha256::digest(&answer.body));
    (answer.status == StatusCode::OK).then(|| format!("sha256:{}", String::from_utf8_lossy(&digits)))
}

#[derive(Deserialize)]
struct GivenToken {
    #[serde(alias = "access_token")]
    token: String,
}

/// Returns the address of the manifest of an image, such as `ghcr.io/someone/it:1.0`.
fn manifest_url(image: &str) -> String {
    let image = image.trim_start_matches("docker.io/");
    let (host, path) = match image.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) => (host, path.to_owned()),
        Some(_) => (DOCKER, image.to_owned()),
        None => (DOCKER, format!("library/{image}")),
    };
    let (name, tag) = path.rsplit_once(':').unwrap_or((path.as_str(), "latest"));
    // As programs that start containers do it: registries of this machine have no TLS.
    let scheme = if host.starts_with("localhost:") { "http" } else { "https" };
    format!("{scheme}://{host}/v2/{name}/manifests/{tag}")
}

/// Returns the address at which everybody gets a token, as a challenge names it.
fn token_url(challenge: &str) -> Option<Url> {
    let value = |name: &str| challenge.split_once(&format!("{name}=\""))?.1.split('"').next();
    let pairs = ["service", "scope"].into_iter().filter_map(|name| Some((name, value(name)?)));
    Url::parse_with_params(value("realm")?, pairs).ok()
}

/// The registry of images that are named without one.
const DOCKER: &str = "registry-1.docker.io";

/// The kinds of manifests, those for several systems among them.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, \
     application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_of_an_image_has_an_address() {
        for (image, url) in [
            ("ghcr.io/x/w:1.0", "https://ghcr.io/v2/x/w/manifests/1.0"),
            ("localhost:5000/w", "http://localhost:5000/v2/w/manifests/latest"),
            ("x/w:2", "https://registry-1.docker.io/v2/x/w/manifests/2"),
            ("docker.io/x/w:2", "https://registry-1.docker.io/v2/x/w/manifests/2"),
            ("docker.io/w", "https://registry-1.docker.io/v2/library/w/manifests/latest"),
            ("w:3", "https://registry-1.docker.io/v2/library/w/manifests/3"),
        ] {
            assert_eq!(manifest_url(image), url);
        }
    }

    #[test]
    fn a_challenge_names_where_everybody_gets_a_token() {
        let challenge = r#"Bearer realm="https://auth.example/token",service="r.example",scope="repository:x/w:pull""#;
        let url = token_url(challenge).unwrap();
        assert_eq!(url.as_str(), "https://auth.example/token?service=r.example&scope=repository%3Ax%2Fw%3Apull");
        assert!(token_url("Basic").is_none() && token_url(r#"Bearer realm="x""#).is_none());
    }
}

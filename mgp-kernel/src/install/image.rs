//! The digests of images of containers: a tag can be moved by its publisher, a digest cannot.

use http::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use mgp_security::network::{Fetched, Fetcher};
use mgp_types::hex;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use url::Url;

/// Returns the digest of what the tag of an image names now, such as `sha256:…`.
///
/// # Errors
/// The registry of the image does not say it to everybody, with the reason.
pub(super) async fn digest(image: &str, fetcher: &Fetcher) -> Result<String, String> {
    let url = manifest_url(image);
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(MANIFESTS));
    let mut answer = get(&url, &headers, fetcher).await?;
    if answer.status == StatusCode::UNAUTHORIZED {
        let challenge = answer.headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let token_url = challenge.and_then(token_url).ok_or("its registry asks for a login of its own kind")?;
        let given = get(token_url.as_str(), &HeaderMap::new(), fetcher).await?;
        let given: GivenToken =
            serde_json::from_slice(&given.body).map_err(|_| "its registry gives nobody a token".to_owned())?;
        let bearer = HeaderValue::try_from(format!("Bearer {}", given.token.or(given.access_token).unwrap_or_default()));
        headers.insert(AUTHORIZATION, bearer.map_err(|error| error.to_string())?);
        answer = get(&url, &headers, fetcher).await?;
    }
    if answer.status != StatusCode::OK {
        return Err(format!("its registry answers with {}", answer.status));
    }
    let digits = hex::<64>(&Sha256::digest(&answer.body));
    Ok(format!("sha256:{}", String::from_utf8_lossy(&digits)))
}

async fn get(url: &str, headers: &HeaderMap, fetcher: &Fetcher) -> Result<Fetched, String> {
    fetcher.get(url, headers).await.map_err(|error| format!("its registry cannot be asked: {error}"))
}

#[derive(Deserialize)]
struct GivenToken {
    token: Option<String>,
    access_token: Option<String>,
}

/// Returns the address of the manifest of an image, such as `ghcr.io/someone/it:1.0`.
fn manifest_url(image: &str) -> String {
    let (host, path) = match image.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) && host != "docker.io" => (host, path.to_owned()),
        Some(("docker.io", path)) if path.contains('/') => (DOCKER, path.to_owned()),
        Some(("docker.io", path)) => (DOCKER, format!("library/{path}")),
        Some(_) => (DOCKER, image.to_owned()),
        None => (DOCKER, format!("library/{image}")),
    };
    let (name, tag) = path.rsplit_once(':').unwrap_or((path.as_str(), "latest"));
    // As programs that start containers do it: registries of this machine have no TLS.
    let scheme = if host.starts_with("localhost:") || host.starts_with("127.0.0.1:") { "http" } else { "https" };
    format!("{scheme}://{host}/v2/{name}/manifests/{tag}")
}

/// Returns the address at which everybody gets a token, as a challenge names it.
fn token_url(challenge: &str) -> Option<Url> {
    let value = |name: &str| {
        let (_, rest) = challenge.split_once(&format!("{name}=\""))?;
        rest.split('"').next()
    };
    let mut url = Url::parse(value("realm")?).ok()?;
    for name in ["service", "scope"] {
        if let Some(value) = value(name) {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    Some(url)
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

//! Embedding services that speak OpenAI's protocol (feature `http`).

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use mgp_types::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{EmbeddingAnswer, MOST_NAME, PROBE, dimension, in_parts, in_time, same_model};
use crate::embed::{EmbedError, Embedder, Purpose, checked};

/// A service that embeds text as OpenAI's does: `POST /v1/embeddings` with `{"model": …, "input": [...]}`.
#[derive(Debug)]
pub struct HttpEmbedder {
    id: String,
    dimension: usize,
    /// The name of the model at the service.
    named: String,
    endpoint: Arc<Endpoint>,
}

struct Endpoint {
    url: Uri,
    model: String,
    authorization: Option<HeaderValue>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl HttpEmbedder {
    /// Connects to `model` at `url`, and embeds a text as a check.
    ///
    /// Where the path of `url` does not end in `/embeddings`, that is added to it, and `/v1/embeddings` where there is
    /// no path. Texts travel without encryption only to this machine. `token_variable` is the name of the environment
    /// variable that has the bearer token; if it is not set, no token is sent.
    ///
    /// # Errors
    /// The URL is invalid, or neither of HTTPS nor of this machine; or the service does not answer as it should.
    pub async fn connect(url: &str, model: &str, token_variable: &str) -> Result<Self, EmbedError> {
        let endpoint = Endpoint {
            url: endpoint(url)?,
            model: model.into(),
            authorization: authorization(token_variable)?,
            client: client()?,
        };
        let answer = in_time(endpoint.ask(vec![PROBE.into()])).await?;
        let dimension = dimension(&answer)?;
        let authority = endpoint.url.authority().map_or("", |authority| authority.as_str());
        let id = format!("http:{authority}:{model}:{dimension}");
        let named = answer.model;
        checked(answer.vectors, 1, dimension)?;
        Ok(Self { id, dimension, named, endpoint: Arc::new(endpoint) })
    }
}

impl Embedder for HttpEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed(&self, texts: Vec<String>, _: Purpose) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        let (endpoint, named, dimension) = (Arc::clone(&self.endpoint), self.named.clone(), self.dimension);
        Box::pin(in_parts(texts, move |texts| {
            let (endpoint, named) = (Arc::clone(&endpoint), named.clone());
            async move {
                let count = texts.len();
                let answer = in_time(endpoint.ask(texts)).await?;
                same_model(&answer.model, &named)?;
                checked(answer.vectors, count, dimension)
            }
        }))
    }
}

#[derive(Serialize)]
struct EmbeddingsRequest<'a> {
    model: &'a str,
    input: &'a [String],
}

#[derive(Deserialize)]
struct EmbeddingsResponse {
    data: Vec<One>,
    #[serde(default)]
    model: String,
}

#[derive(Deserialize)]
struct One {
    index: usize,
    embedding: Vec<f32>,
}

/// The size of an answer at most, in bytes: a few dozen of the longest vectors in use.
const MOST_BYTES: usize = 16 << 20;

impl Endpoint {
    async fn ask(&self, texts: Vec<String>) -> Result<EmbeddingAnswer, EmbedError> {
        let asked = serde_json::to_vec(&EmbeddingsRequest { model: &self.model, input: &texts })
            .map_err(|_| EmbedError::new("the texts cannot be written as JSON"))?;
        let mut request = Request::new(Full::new(Bytes::from(asked)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        let answer = self.client.request(request).await.map_err(|error| {
            let why = if error.is_connect() { "cannot be reached" } else { "broke off" };
            EmbedError::new(format!("the embedding service {why}"))
        })?;
        let status = answer.status();
        if !status.is_success() {
            return Err(EmbedError::new(format!("the embedding service answers with {status}")));
        }
        let body = Limited::new(answer.into_body(), MOST_BYTES).collect().await.map_err(|_| {
            EmbedError::new(format!(
                "the answer of the embedding service breaks off, or is over {MOST_BYTES} bytes"
            ))
        })?;
        let embedded: EmbeddingsResponse = serde_json::from_slice(&body.to_bytes())
            .map_err(|error| EmbedError::new(format!("the answer of the embedding service: {error}")))?;
        let EmbeddingsResponse { mut data, model } = embedded;
        data.sort_by_key(|one| one.index);
        if data.iter().enumerate().any(|(place, one)| one.index != place) {
            return Err(EmbedError::new("the embedding service numbers its vectors wrongly"));
        }
        let model = model.chars().take(MOST_NAME).collect();
        Ok(EmbeddingAnswer { vectors: data.into_iter().map(|one| one.embedding).collect(), model })
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, model, .. } = self;
        f.debug_struct("Endpoint").field("url", url).field("model", model).finish_non_exhaustive()
    }
}

fn endpoint(url: &str) -> Result<Uri, EmbedError> {
    let parsed: Uri = url.parse().map_err(|_| EmbedError::new("the embedding service has no URL"))?;
    let (Some(host), Some(authority)) = (parsed.host(), parsed.authority()) else {
        return Err(EmbedError::new("the URL of the embedding service names no host"));
    };
    if authority.as_str().contains('@') {
        return Err(EmbedError::new("the URL of the embedding service has credentials in it"));
    }
    let scheme = match parsed.scheme_str() {
        Some("https") => "https",
        Some("http") if is_this_machine(host) => "http",
        _ => return Err(EmbedError::new("texts are sent by HTTPS only, except to this machine")),
    };
    let path = match parsed.path().trim_end_matches('/') {
        "" => "/v1/embeddings".into(),
        path if path.ends_with("/embeddings") => path.into(),
        path => format!("{path}/embeddings"),
    };
    let query = parsed.query().map_or_else(String::new, |query| format!("?{query}"));
    let whole = format!("{scheme}://{authority}{path}{query}");
    whole.parse().map_err(|_| EmbedError::new("the embedding service has no URL"))
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

fn authorization(variable: &str) -> Result<Option<HeaderValue>, EmbedError> {
    let Some(token) = std::env::var_os(variable).filter(|token| !token.is_empty()) else { return Ok(None) };
    let header =
        token.to_str().and_then(|token| HeaderValue::from_str(&format!("Bearer {}", token.trim())).ok());
    let mut header = header.ok_or_else(|| {
        EmbedError::new(format!("the environment variable {variable} holds no valid token"))
    })?;
    header.set_sensitive(true);
    Ok(Some(header))
}

fn client() -> Result<Client<HttpsConnector<HttpConnector>, Full<Bytes>>, EmbedError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let trusted = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    // The provider is named, because the default of the process panics where a program has built in two.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| EmbedError::new("TLS is not available"))?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector))
}

#[cfg(test)]
mod tests;

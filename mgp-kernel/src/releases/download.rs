//! Downloads of published files: by HTTPS only, continued after a cut, and checked before they take their place.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_RANGE, LOCATION, RANGE};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mgp_kernel_core::state::folder::digest_of;
use mgp_kernel_core::terminal::with_causes;
use mgp_security::network::JudgedHttp;
use mgp_types::{BoxFuture, hex};
use tokio::fs::{self, OpenOptions};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;
use url::Url;

/// A published file.
#[derive(Debug)]
pub(crate) struct PublishedFile {
    pub(crate) url: String,
    /// The length in bytes.
    pub(crate) size: u64,
    /// The SHA-256 of the contents, in hexadecimal digits.
    pub(crate) sha256: String,
}

/// Brings published files.
pub(crate) struct Downloader {
    client: Client<HttpsConnector<Route>, Empty<Bytes>>,
}

/// The reason why a file was not downloaded. What was brought of it stays, unless it is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DownloadError {
    #[error(transparent)]
    Tls(#[from] mgp_types::Error),
    #[error("{0} is not an address of https")]
    NotHttps(String),
    #[error("{url}: {why}")]
    Unreachable { url: String, why: String },
    #[error("{url} answers with {status}")]
    Refused { url: String, status: StatusCode },
    #[error("{0} leads from one address to the next without end")]
    Redirects(String),
    #[error("the download of {url} broke off at {bytes} of {size} bytes")]
    Cut { url: String, bytes: u64, size: u64 },
    #[error("{url} is longer than the published file, which has {size} bytes")]
    TooLong { url: String, size: u64 },
    #[error(
        "{origin} is not the published file: its SHA-256 is {found} instead of {expected}; what was brought is removed"
    )]
    OtherFile { origin: String, found: String, expected: String },
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
}

/// Returns the error of a file that cannot be used.
fn at(path: &Path) -> impl Fn(io::Error) -> DownloadError + use<> {
    let path = path.to_owned();
    move |error| DownloadError::File { path: path.clone(), error }
}

/// The number of attempts in a row that may bring nothing.
const ATTEMPTS: u32 = 3;
/// The number of addresses to which an address may lead one after the other.
const MAX_REDIRECTS: u32 = 5;
/// The time in which a server has to answer, or to send more.
const PATIENCE: Duration = Duration::from_secs(30);

impl Downloader {
    /// Creates a downloader that trusts the certificates that browsers trust, and uses the proxies that the environment
    /// names.
    pub(crate) fn new() -> Result<Self, DownloadError> {
        Ok(Self::with(&JudgedHttp::new()?, Matcher::from_env()))
    }

    fn with(trusting: &JudgedHttp, proxies: Matcher) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(Arc::unwrap_or_clone(trusting.tls()))
            .https_only()
            .enable_http1()
            .wrap_connector(Route { proxies: Arc::new(proxies), tcp });
        Self { client: Client::builder(TokioExecutor::new()).build(connector) }
    }

    /// Brings a file to `goal`.
    pub(crate) async fn fetch(&self, file: &PublishedFile, goal: &Path) -> Result<(), DownloadError> {
        let path = part(goal);
        let mut failures = 0;
        loop {
            let before = length(&path).await;
            if before == file.size {
                break;
            }
            let Err(error) = self.continue_part(file, &path, before).await else { break };
            let is_final = !matches!(error, DownloadError::Cut { .. } | DownloadError::Unreachable { .. });
            failures = if length(&path).await > before { 0 } else { failures + 1 };
            if is_final || failures >= ATTEMPTS {
                return Err(error);
            }
            tracing::info!(%error, "a download is tried again");
        }
        let checked = path.clone();
        let found = tokio::task::spawn_blocking(move || sha256(&checked)).await;
        let found = found.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(at(&path))?;
        if found != file.sha256 {
            fs::remove_file(&path).await.map_err(at(&path))?;
            let (origin, expected) = (file.url.clone(), file.sha256.clone());
            return Err(DownloadError::OtherFile { origin, found, expected });
        }
        fs::rename(&path, goal).await.map_err(at(&path))
    }

    /// Brings what is missing of a file of which `have` bytes are there.
    async fn continue_part(&self, file: &PublishedFile, path: &Path, have: u64) -> Result<(), DownloadError> {
        // A part that is longer than the file is of something else.
        let have = if have < file.size { have } else { 0 };
        let answer = self.answer(&file.url, have).await?;
        let url = || file.url.clone();
        let range = answer.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
        let is_next = range.is_some_and(|range| range.starts_with(&format!("bytes {have}-")));
        let mut have = match answer.status() {
            StatusCode::PARTIAL_CONTENT if is_next => have,
            StatusCode::OK => 0,
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => {
                fs::remove_file(path).await.map_err(at(path))?;
                return Err(DownloadError::Cut { url: url(), bytes: 0, size: file.size });
            }
            status => return Err(DownloadError::Refused { url: url(), status }),
        };
        let mut options = OpenOptions::new();
        options.create(true).append(have > 0).write(true).truncate(have == 0);
        let mut part = options.open(path).await.map_err(at(path))?;
        let mut body = answer.into_body();
        while let Ok(Some(Ok(frame))) = timeout(PATIENCE, body.frame()).await {
            let Ok(bytes) = frame.into_data() else { continue };
            have += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if have > file.size {
                drop(part);
                fs::remove_file(path).await.map_err(at(path))?;
                return Err(DownloadError::TooLong { url: url(), size: file.size });
            }
            part.write_all(&bytes).await.map_err(at(path))?;
        }
        part.sync_all().await.map_err(at(path))?;
        if have < file.size {
            return Err(DownloadError::Cut { url: url(), bytes: have, size: file.size });
        }
        Ok(())
    }

    /// Asks for a file from its byte `from` on, at the address to which its own one leads.
    async fn answer(&self, url: &str, from: u64) -> Result<Response<hyper::body::Incoming>, DownloadError> {
        let mut at = Url::parse(url).map_err(|_| DownloadError::NotHttps(url.to_owned()))?;
        for _ in 0..=MAX_REDIRECTS {
            if at.scheme() != "https" {
                return Err(DownloadError::NotHttps(at.into()));
            }
            let mut request = Request::get(at.as_str()).header("user-agent", "mgp");
            if from > 0 {
                request = request.header(RANGE, format!("bytes={from}-"));
            }
            let unreachable = |why: String| DownloadError::Unreachable { url: at.to_string(), why };
            let request = request.body(Empty::new()).map_err(|error| unreachable(error.to_string()))?;
            let answer = timeout(PATIENCE, self.client.request(request)).await;
            let answer = answer.map_err(|_| unreachable("there is no answer".into()))?;
            let answer = answer.map_err(|error| unreachable(with_causes(&error.to_string(), &error)))?;
            if !answer.status().is_redirection() {
                return Ok(answer);
            }
            let status = answer.status();
            let next = answer.headers().get(LOCATION).and_then(|next| next.to_str().ok());
            let next = next.and_then(|next| at.join(next).ok());
            at = next.ok_or_else(|| DownloadError::Refused { url: at.into(), status })?;
        }
        Err(DownloadError::Redirects(url.into()))
    }
}

/// Returns the path of a file that is not complete yet.
fn part(goal: &Path) -> PathBuf {
    goal.with_added_extension("part")
}

/// Returns the SHA-256 of a file, in hexadecimal digits.
fn sha256(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&hex::<64>(&digest_of(path)?)).into_owned())
}

/// Copies a file if it is the published one. It takes its place when it is complete.
pub(crate) fn copy(file: &PublishedFile, from: &Path, goal: &Path) -> Result<(), DownloadError> {
    let part = part(goal);
    let unwritable = at(&part);
    let source = File::open(from).map_err(at(from))?;
    let mut written = File::create(&part).map_err(&unwritable)?;
    // A file that is longer than the published one is another one, and need not be copied to its end.
    io::copy(&mut source.take(file.size.saturating_add(1)), &mut written).map_err(&unwritable)?;
    let found = sha256(&part).map_err(&unwritable)?;
    if found != file.sha256 {
        let _gone = std::fs::remove_file(&part);
        let origin = from.display().to_string();
        return Err(DownloadError::OtherFile { origin, found, expected: file.sha256.clone() });
    }
    written.sync_all().map_err(&unwritable)?;
    std::fs::rename(&part, goal).map_err(unwritable)
}

async fn length(path: &Path) -> u64 {
    fs::metadata(path).await.map_or(0, |file| file.len())
}

/// Connects to hosts directly or through proxies.
#[derive(Clone)]
struct Route {
    proxies: Arc<Matcher>,
    tcp: HttpConnector,
}

impl Service<Uri> for Route {
    type Response = TokioIo<TcpStream>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, host: Uri) -> Self::Future {
        // The connector that is ready is used, and a fresh one is left.
        let mut tcp = self.tcp.clone();
        std::mem::swap(&mut tcp, &mut self.tcp);
        let Some(proxy) = self.proxies.intercept(&host) else {
            return Box::pin(async move { Ok(tcp.call(host).await?) });
        };
        if proxy.uri().scheme_str() != Some("http") {
            let why = "proxies are spoken to by HTTP: write `http://` before the address of HTTPS_PROXY";
            return Box::pin(async move { Err(why.into()) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), tcp);
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        Box::pin(async move { Ok(tunnel.call(host).await?) })
    }
}

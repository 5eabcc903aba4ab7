//! The sources of data: which origins those of a server are, and the requests to them, which go to judged addresses and
//! carry no credentials.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::{ETAG, RANGE};
use http_body_util::{BodyExt as _, Full};
use mgp_discovery::Config;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::network::JudgedHttp;
use mgp_security::reference::{FetchedData, ReferenceImporter, ReferenceSource};
use mgp_types::{BoxFuture, Error, code};
use tokio::time::timeout;
use url::Url;

use crate::settings;

/// Returns an importer of the data of one server: from the origins that its configuration names, and from the one that it
/// is reached at itself. Private addresses are refused unless the configuration of the server opens them.
pub(super) fn importer(config: &Config, server: &ServerConfig) -> Result<ReferenceImporter, Error> {
    let wrong = |why: String| Error::internal(format!("data of `{}` cannot be fetched: {why}", server.id));
    let mut policy = settings::network_policy(config, server).map_err(|error| wrong(error.to_string()))?;
    let own = server.url.as_deref().and_then(|url| Url::parse(url).ok());
    if let Some((host, port)) = own.as_ref().and_then(|own| own.host_str().zip(own.port_or_known_default()))
        && let Ok(host) = format!("{host}:{port}").parse()
    {
        policy = policy.allow_host(host);
    }
    let own = own.map(|own| own.origin().ascii_serialization());
    let mut importer = ReferenceImporter::new(Arc::new(HttpSource(JudgedHttp::new()?)), policy);
    for origin in server.network.data_origins.iter().cloned().chain(own) {
        importer = importer
            .with_origin(server.id.as_str(), &origin)
            .map_err(|error| wrong(format!("`servers.network.data_origins`: {origin:?}: {error}")))?;
    }
    Ok(importer)
}

/// A source that sends requests over HTTP, and trusts the certificates that browsers trust.
#[derive(Debug)]
struct HttpSource(JudgedHttp);

impl HttpSource {
    async fn send(&self, url: &str, addresses: &[SocketAddr], from: u64) -> Result<FetchedData, Error> {
        let why = "the server of the data cannot be reached; try again later";
        let unreachable = || Error::new(code::UPSTREAM_UNAVAILABLE, why);
        let mut request = Request::get(url).header("user-agent", "mgp").header("accept-encoding", "identity");
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let request = request.body(Full::<Bytes>::default()).map_err(|_| unreachable())?;
        let late = |_| {
            let why = "the server of the data did not answer in time; try again later";
            Error::new(code::UPSTREAM_TIMEOUT, why)
        };
        let answer = timeout(PATIENCE, self.0.send(request, addresses)).await.map_err(late)?;
        let answer = answer.map_err(|_| unreachable())?;
        let (head, body) = answer.into_parts();
        let cut = |_: hyper::Error| Error::new(code::UPSTREAM_ERROR, "the data was cut off; try again");
        let etag = head.headers.get(ETAG).and_then(|etag| etag.to_str().ok()).map(Into::into);
        let body = Box::pin(body.map_err(cut).into_data_stream());
        Ok(FetchedData { status: head.status.as_u16(), etag, body })
    }
}

impl ReferenceSource for HttpSource {
    fn get<'a>(
        &'a self,
        url: &'a str,
        addresses: &'a [SocketAddr],
        from: u64,
    ) -> BoxFuture<'a, Result<FetchedData, Error>> {
        Box::pin(self.send(url, addresses, from))
    }
}

/// The time in which a server has to answer.
const PATIENCE: Duration = Duration::from_secs(30);

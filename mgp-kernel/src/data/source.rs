//! The requests for data: to addresses that were judged, without redirects, proxies and credentials.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::{ETAG, RANGE};
use http_body_util::{BodyExt as _, Full};
use mgp_security::network::JudgedHttp;
use mgp_security::reference::{FetchedData, ReferenceSource};
use mgp_types::{BoxFuture, Error, code};
use tokio::time::timeout;

/// A source that sends requests over HTTP, and trusts the certificates that browsers trust.
#[derive(Debug)]
pub(super) struct HttpSource(JudgedHttp);

impl HttpSource {
    pub(super) fn new() -> Result<Self, Error> {
        JudgedHttp::new().map(Self)
    }

    async fn send(&self, url: &str, addresses: &[SocketAddr], from: u64) -> Result<FetchedData, Error> {
        let unreachable = || {
            Error::new(
                code::UPSTREAM_UNAVAILABLE,
                "the server of the data cannot be reached; try again later",
            )
        };
        let mut request = Request::get(url).header("user-agent", "mgp").header("accept-encoding", "identity");
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let request = request.body(Full::<Bytes>::default()).map_err(|_| unreachable())?;
        let answer = match timeout(PATIENCE, self.0.send(request, addresses)).await {
            Ok(answer) => answer.map_err(|_| unreachable())?,
            Err(_) => return Err(late()),
        };
        let (head, body) = answer.into_parts();
        let cut = |_: hyper::Error| Error::new(code::UPSTREAM_ERROR, "the data was cut off; try again");
        let data = FetchedData::new(head.status.as_u16(), body.map_err(cut).into_data_stream());
        let etag = head.headers.get(ETAG).and_then(|etag| etag.to_str().ok());
        Ok(match etag {
            Some(etag) => data.with_etag(etag),
            None => data,
        })
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

fn late() -> Error {
    Error::new(code::UPSTREAM_TIMEOUT, "the server of the data did not answer in time; try again later")
}

/// The time in which a server has to answer.
const PATIENCE: Duration = Duration::from_secs(30);

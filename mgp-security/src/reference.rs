//! Data of other servers, fetched by reference and only from where the operator expects it: what may be fetched, and the
//! proof of what came.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use foldhash::fast::RandomState;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::header::{ACCEPT_ENCODING, ETAG, RANGE, USER_AGENT};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use mgp_types::ext::{Checksum, ChecksumAlgorithm, DataReference};
use mgp_types::mgp::Timestamp;
use mgp_types::{BoxFuture, Error, code};
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;
use url::{Origin, Url};

use crate::network::{FetchError, GuardedConnector, JudgedHttp, NetworkPolicy, check_url};
use crate::refusal::refusal;

/// Fetches data of other servers by reference.
///
/// Data comes only from the origins that are registered for the server that a reference names, over HTTPS, and from
/// addresses of the public network, which are judged after the name was resolved. Nothing is redirected. The size is
/// bounded, an interrupted transfer goes on where it stopped, and what came is compared with the size and the checksum that
/// the reference promises.
///
/// Addresses that are fetched hold secrets, and no error repeats one.
pub struct ReferenceImporter {
    request: Box<RequestData>,
    connector: GuardedConnector,
    origins: HashMap<Box<str>, Vec<Origin>, RandomState>,
    max_bytes: u64,
}

/// An origin is no `https://` and host, with a port if need be, and nothing behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an origin is `https://` and a host, with a port if need be, and nothing behind")]
pub struct InvalidOrigin;

/// A function that requests the data at a URL from one of the given addresses, beginning at a byte.
type RequestData = dyn Fn(String, Vec<SocketAddr>, u64) -> BoxFuture<'static, DataOutcome> + Send + Sync;

/// An answer whose body comes piece by piece.
type DataOutcome = Result<Response<BoxStream<'static, Result<Bytes, Error>>>, Error>;

/// The bytes that are fetched at most, unless another bound is set.
const MAX_BYTES: u64 = 1 << 30;
/// The number of times that an interrupted transfer goes on.
const MAX_RESUMED: usize = 8;
/// The time in which a server has to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

impl ReferenceImporter {
    /// Creates an importer that fetches from the hosts that `policy` allows, trusts the certificates that browsers trust,
    /// and has an origin of no server yet. From this machine, where it is allowed, data comes without TLS, too.
    ///
    /// # Errors
    /// TLS is not available.
    pub fn new(policy: NetworkPolicy) -> Result<Self, Error> {
        let (http, connector) = (JudgedHttp::new()?, GuardedConnector::new(policy));
        let request = move |url: String, addresses: Vec<SocketAddr>, from: u64| -> BoxFuture<'static, _> {
            Box::pin(request_data(http.clone(), url, addresses, from))
        };
        Ok(Self { request: Box::new(request), connector, origins: HashMap::default(), max_bytes: MAX_BYTES })
    }

    /// Lets data of `server` come from `origin`, for instance `https://data.example`.
    ///
    /// # Errors
    /// The text is no origin.
    pub fn with_origin(mut self, server: impl Into<Box<str>>, origin: &str) -> Result<Self, InvalidOrigin> {
        let url = Url::parse(origin).map_err(|_| InvalidOrigin)?;
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let is_http =
            matches!(url.scheme(), "https" | "http") && url.username().is_empty() && url.password().is_none();
        if !is_bare || !is_http {
            return Err(InvalidOrigin);
        }
        self.origins.entry(server.into()).or_default().push(url.origin());
        Ok(self)
    }

    mgp_types::setters! { #[must_use] self =>
        /// Sets the bytes that are fetched at most. Default: 1 GiB.
        pub fn max_bytes(bytes: u64) => self.max_bytes = bytes;
    }

    /// Fetches the data of a reference at `now`, hands it to `sink` piece by piece, and returns its number of bytes. What the
    /// sink was given is proved only once this has succeeded, and is to be discarded else.
    ///
    /// # Errors
    /// 3020: there is more data than may be fetched; 3021: the reference has no address, or its server does not know it;
    /// 3022: it is over; 3023: its address may not be fetched, or its server refuses; 3024: the data is not what the
    /// reference promises, or nothing that can be proved; 5000 to 5002: its server is at fault.
    pub async fn import(
        &self,
        reference: &DataReference,
        now: Timestamp,
        sink: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
    ) -> Result<u64, Error> {
        if reference.expires_at.is_some_and(|end| end <= now) {
            return Err(refusal(code::REFERENCE_EXPIRED, "the reference is over; export the data again"));
        }
        if reference.size_bytes.is_some_and(|size| size > self.max_bytes) {
            return Err(self.too_large());
        }
        let unproved = "the reference has no checksum that proves anything; ask for one by sha256";
        let expected = match &reference.checksum {
            Some(Checksum { algorithm: ChecksumAlgorithm::Sha256, value, .. }) => Some(&**value),
            // MD5 proves nothing against somebody who wants to deceive.
            Some(_) => return Err(mismatch(unproved)),
            None => None,
        };
        let (url, addresses) = self.judged(reference).await?;
        let mut transfer = Transfer { received: 0, etag: None, hash: Sha256::new() };
        let most = reference.size_bytes.unwrap_or(self.max_bytes);
        let mut resumed = 0;
        loop {
            let answer = (self.request)(url.to_string(), addresses.clone(), transfer.received).await?;
            transfer.check(&answer)?;
            let mut body = answer.into_body();
            let interruption = loop {
                let piece = match body.next().await {
                    Some(Ok(piece)) => piece,
                    Some(Err(why)) => break Some(why),
                    None => break None,
                };
                transfer.received = transfer.received.saturating_add(piece.len() as u64);
                if transfer.received > most {
                    return Err(match reference.size_bytes {
                        Some(_) => {
                            mismatch("there is more data than the reference promises; export it again")
                        }
                        None => self.too_large(),
                    });
                }
                sink(&piece).map_err(|why| Error::internal("the data cannot be stored").with_source(why))?;
                transfer.hash.update(&piece);
            };
            if interruption.is_none() && reference.size_bytes.is_none_or(|size| transfer.received >= size) {
                break;
            }
            if resumed == MAX_RESUMED || reference.size_bytes.is_none() {
                let short = "there is less data than the reference promises; export it again";
                return Err(interruption.unwrap_or_else(|| mismatch(short)));
            }
            resumed += 1;
        }
        let digits: [u8; 64] = mgp_types::hex(&transfer.hash.finalize());
        if expected.is_some_and(|expected| !expected.as_bytes().eq_ignore_ascii_case(&digits)) {
            return Err(mismatch("the data is not what the reference promises; export it again"));
        }
        Ok(transfer.received)
    }

    /// Returns the address of the reference and where it leads, if it may be fetched.
    async fn judged(&self, reference: &DataReference) -> Result<(Url, Vec<SocketAddr>), Error> {
        let written = reference.access_url.as_deref().ok_or_else(|| {
            refusal(code::REFERENCE_NOT_FOUND, "the reference has no address; resolve it at its server first")
        })?;
        check_url(written, &self.connector.policy).map_err(|why| forbidden(why.message))?;
        let url = Url::parse(written).map_err(|_| forbidden("its address is none"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(forbidden("its address holds credentials"));
        }
        let known = self.origins.get(&reference.origin_server);
        if !known.is_some_and(|origins| origins.contains(&url.origin())) {
            return Err(forbidden("its address is none of those that are registered for its server"));
        }
        let host = url.host_str().ok_or_else(|| forbidden("its address names no host"))?;
        let port = url.port_or_known_default().ok_or_else(|| forbidden("its address names no port"))?;
        let addresses = self.connector.addresses(host, port).await.map_err(|why| match why {
            FetchError::Refused(finding) => forbidden(finding.message),
            _ => unreachable(),
        })?;
        let is_here = addresses.iter().all(|address| address.ip().is_loopback());
        if url.scheme() != "https" && !is_here {
            return Err(forbidden("its address is not one of HTTPS"));
        }
        Ok((url, addresses))
    }

    fn too_large(&self) -> Error {
        let message = format!("the data has more than {} bytes; export less", self.max_bytes);
        refusal(code::PAYLOAD_TOO_LARGE, message)
    }
}

mgp_types::partial_debug!(ReferenceImporter, self => servers: self.origins.len(), max_bytes: self.max_bytes);

/// The data that came so far.
struct Transfer {
    received: u64,
    /// The header `ETag`, by which parts are known to be of the same data.
    etag: Option<HeaderValue>,
    hash: Sha256,
}

impl Transfer {
    /// Checks that an answer goes on with the same data.
    fn check<B>(&mut self, answer: &Response<B>) -> Result<(), Error> {
        let (begins, etag) = (self.received == 0, answer.headers().get(ETAG));
        Err(match answer.status().as_u16() {
            200 if begins => {
                self.etag = etag.cloned();
                return Ok(());
            }
            206 if !begins && etag == self.etag.as_ref() => return Ok(()),
            200 | 206 => failed("the transfer was interrupted and cannot go on; import it again"),
            300..=399 => forbidden("its server redirects, which is not followed"),
            401 | 403 => forbidden("its server refuses; it may be over, or for another server"),
            404 => refusal(
                code::REFERENCE_NOT_FOUND,
                "its server knows no such reference; export the data again",
            ),
            410 => refusal(code::REFERENCE_EXPIRED, "the data was released; export it again"),
            status => failed(format!("the server of the data answered with status {status}")),
        })
    }
}

fn forbidden(why: impl std::fmt::Display) -> Error {
    refusal(code::REFERENCE_FORBIDDEN, format!("the reference may not be fetched: {why}"))
}

fn mismatch(message: &'static str) -> Error {
    refusal(code::REFERENCE_CHECKSUM_MISMATCH, message)
}

fn failed(message: impl Into<Cow<'static, str>>) -> Error {
    refusal(code::UPSTREAM_ERROR, message)
}

fn unreachable() -> Error {
    refusal(code::UPSTREAM_UNAVAILABLE, "the server of the data cannot be reached; try again later")
}

/// Sends `GET url` to one of `addresses`, without credentials. With `from` above 0, asks for the bytes from there on.
async fn request_data(http: JudgedHttp, url: String, addresses: Vec<SocketAddr>, from: u64) -> DataOutcome {
    let mut request = Request::get(url).header(USER_AGENT, "mgp").header(ACCEPT_ENCODING, "identity");
    if from > 0 {
        request = request.header(RANGE, format!("bytes={from}-"));
    }
    let request = request.body(Full::<Bytes>::default()).map_err(|_| unreachable())?;
    let late =
        |_| refusal(code::UPSTREAM_TIMEOUT, "the server of the data did not answer in time; try again later");
    let answer = timeout(ANSWER_TIMEOUT, http.send(request, &addresses)).await.map_err(late)?;
    let answer = answer.map_err(|_| unreachable())?;
    let cut = |_: hyper::Error| failed("the data was cut off; try again");
    Ok(answer.map(|body| -> BoxStream<'static, _> { Box::pin(body.map_err(cut).into_data_stream()) }))
}

#[cfg(test)]
mod tests;

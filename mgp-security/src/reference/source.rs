//! The port that sends requests for data.

use std::net::SocketAddr;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;
use mgp_types::{BoxFuture, Error};

/// The port by which data is fetched.
///
/// An implementation connects to one of the given addresses and to no other, follows no redirect, uses no proxy, asks for
/// no compression, sends no credentials, and logs no query.
pub trait ReferenceSource: Send + Sync {
    /// Sends `GET url` to one of `addresses`. With `from` above 0, asks for the bytes from there on by the header `Range`.
    ///
    /// # Errors
    /// 5002: no address can be connected to; 5001: there is no answer in time.
    fn get<'a>(
        &'a self,
        url: &'a str,
        addresses: &'a [SocketAddr],
        from: u64,
    ) -> BoxFuture<'a, Result<FetchedData, Error>>;
}

/// An answer with data.
#[non_exhaustive]
pub struct FetchedData {
    /// The status of the answer.
    pub status: u16,
    /// The header `ETag`, by which parts are known to be of the same data.
    pub etag: Option<Box<str>>,
    /// The bytes, piece by piece.
    pub body: Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>,
}

impl FetchedData {
    /// Creates an answer with this status and these bytes.
    pub fn new(status: u16, body: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Self {
        Self { status, etag: None, body: Box::pin(body) }
    }

    /// Sets the header `ETag`.
    #[must_use]
    pub fn with_etag(mut self, etag: impl Into<Box<str>>) -> Self {
        self.etag = Some(etag.into());
        self
    }
}

mgp_types::partial_debug!(FetchedData, self => status: self.status);

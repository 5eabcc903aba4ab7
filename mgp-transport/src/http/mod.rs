//! Streamable HTTP in both eras, and the older HTTP+SSE.

pub mod header;
pub mod sse;

#[cfg(feature = "http-client")]
mod client;
mod replies;
#[cfg(feature = "http-server")]
mod server;
#[cfg(any(feature = "tls", feature = "tls-server"))]
mod tls_material;

#[cfg(feature = "http-client")]
pub use self::client::{
    AfterRefusal, AuthorizationAnswer, Authorize, BinaryArguments, HttpClient, HttpClientBuilder, HttpStatus,
    MirroredHeaders, OutgoingRequest, SessionLost,
};
#[cfg(feature = "tls-server")]
pub use self::server::{ClientCertificates, TlsConfig};
#[cfg(feature = "http-server")]
pub use self::server::{
    ConnectionAddrs, HttpBody, HttpConfig, HttpServer, HttpService, ListenTarget, ResponseFuture,
    ResponseStream, Routes, serve, serve_layered_until, serve_until,
};

//! The settings of an HTTP server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::Extensions;

use super::session_table::OpenSessions;
#[cfg(feature = "tls-server")]
use super::tls::TlsConfig;
use crate::ConnectionLimits;

/// Defines a configuration with the default of each setting. Those behind `set` have a method that sets them, with the
/// same name.
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$cfg:meta])* $own:ident: $own_type:ty = $own_default:expr;)* }
        set { $($(#[$doc:meta])* $field:ident: $type:ty = $default:expr;)* }
    ) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$cfg])* pub(super) $own: $own_type,)*
            $(pub(super) $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($(#[$cfg])* $own: $own_default,)* $($field: $default,)* }
            }
        }

        impl $name {
            mgp_types::setters! { self =>
                $($(#[$doc])* pub fn $field($field: $type) => self.$field = $field;)*
            }
        }
    };
}

settings! {
    /// The permissions and limits of an HTTP server.
    ///
    /// The defaults are safe for a server on one's own machine: only loopback names are accepted as `Host` and
    /// `Origin`. A server that is reached under another name has to set it.
    ///
    /// ```
    /// use mgp_transport::http::HttpConfig;
    ///
    /// let config = HttpConfig::default().allow_host("mcp.example.com").allow_origin("https://app.example.com");
    /// # drop(config);
    /// ```
    #[derive(Debug, Clone)]
    #[must_use]
    pub struct HttpConfig {
        hosts: Vec<Box<str>> = Vec::new();
        any_host: bool = false;
        origins: Vec<Box<str>> = Vec::new();
        multipart: bool = false;
        unique_ids: bool = false;
        open_sessions: Arc<OpenSessions> = Arc::default();
        open_streams: Arc<AtomicUsize> = Arc::default();
        replay_events: usize = 256;
        replay_bytes: usize = 1 << 20;
        path: Box<str> = "/mcp".into();
        max_header_bytes: usize = 64 << 10;
        marks: Option<ConnectionMarker> = None;
        #[cfg(feature = "tls-server")]
        tls: Option<TlsConfig> = None;
        #[cfg(feature = "tls-server")]
        max_streams: u32 = 100;
    } set {
        /// Sets the bounds on bodies, JSON, the calls of one session and the bytes that wait to be written on one
        /// stream.
        ///
        /// A body longer than `max_frame_bytes` is refused with 413. A stream whose reader does not keep up makes its
        /// writers wait at `max_queued` messages or `max_unwritten_bytes`, and loses its reader after `write_timeout`.
        limits: ConnectionLimits = ConnectionLimits::default();
        /// Sets how many sessions may be open; further ones are refused with 503. Default: 10,000.
        max_sessions: usize = 10_000;
        /// Sets how many sessions one principal may have open; further ones are refused with 503. Default: 1,000.
        max_sessions_per_principal: usize = 1_000;
        /// Sets how long a session without requests, calls and streams lives. Default: 30 min.
        session_idle: Duration = Duration::from_mins(30);
        /// Sets how long `initialize` may take. Default: 10 s.
        handshake_timeout: Duration = Duration::from_secs(10);
        /// Sets how long the body of a request may take to arrive, and each further MiB of a long one; then the server
        /// answers 408. Default: 10 s.
        body_timeout: Duration = Duration::from_secs(10);
        /// Sets how long a client may take to answer a request of the server. Default: 10 min, since a human may have
        /// to answer.
        peer_timeout: Duration = Duration::from_mins(10);
        /// Sets how long a client should wait before it resumes a stream. Default: 1 s.
        retry: Duration = Duration::from_secs(1);
        /// Sets how often a stream carries a comment, so that no proxy closes it. Default: 15 s.
        keep_alive: Duration = Duration::from_secs(15);
        /// Sets how many connections [`serve`](super::serve()) holds open; 16 more are for requests of its health.
        ///
        /// A further connection takes the place of one that has no request in work: of one that never sent a request,
        /// if there is any, and of the one that has been idle for longest. Default: 1024.
        max_connections: usize = 1024;
        /// Sets how many of the connections one address may have. Default: 512.
        max_connections_per_peer: usize = 512;
        /// Sets the time that a new connection to [`serve`](super::serve()) has for the head of its first request; the
        /// connection ends after once to one and a half times as long. Default: 10 s.
        header_timeout: Duration = Duration::from_secs(10);
        /// Sets how long a connection to [`serve`](super::serve()) may be idle between one answer and the head of the
        /// next request. Default: 60 s.
        idle_timeout: Duration = Duration::from_mins(1);
        /// Sets how long [`serve`](super::serve()) waits for calls when it ends, and then once more for the work that
        /// they leave behind. Default: 2 s.
        shutdown_grace: Duration = Duration::from_secs(2);
    }
}

/// The function that marks each connection by its ends.
#[derive(Clone)]
pub(super) struct ConnectionMarker(
    pub(super) Arc<dyn Fn(ConnectionAddrs) -> Option<Extensions> + Send + Sync>,
);

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a connection has two ends")]
pub struct ConnectionAddrs {
    /// The address of the peer.
    pub peer: SocketAddr,
    /// The address of this server that the peer connected to.
    pub own: SocketAddr,
}

mgp_types::partial_debug!(ConnectionMarker);

impl HttpConfig {
    mgp_types::setters! { self =>
        /// Adds the extensions that `look` returns for a connection to each request on it. `look` is called once for
        /// each connection, before its first request is read.
        pub fn mark_connections(
            look: impl Fn(ConnectionAddrs) -> Option<Extensions> + Send + Sync + 'static
        ) => self.marks = Some(ConnectionMarker(Arc::new(look)));

        /// Serves over TLS alone in [`serve`](super::serve()), with HTTP/2 for clients that ask for it. Requests of a
        /// client that showed a certificate have it as [`PeerCertificate`](mgp_types::PeerCertificate) among their
        /// extensions.
        #[cfg(feature = "tls-server")]
        pub fn tls(tls: TlsConfig) => self.tls = Some(tls);

        /// Sets how many requests may be in work at once on one connection of HTTP/2. Default: 100.
        #[cfg(feature = "tls-server")]
        pub fn max_streams(streams: u32) => self.max_streams = streams.max(1);

        /// Refuses a call whose id another call of its session had before, so that a request which is sent again is not carried
        /// out again. The ids have to be numbers from 1 on, as `HttpClient` counts them.
        pub fn unique_ids() => self.unique_ids = true;

        /// Accepts a `Host` besides the loopback names, with any port.
        pub fn allow_host(host: impl Into<Box<str>>) => self.hosts.push(host.into());

        /// Accepts every `Host`. This is safe only behind a proxy that checks the name: a web page can otherwise reach
        /// the server under a name of its own.
        pub fn allow_any_host() => self.any_host = true;

        /// Accepts an `Origin`, like `https://app.example.com`, besides the loopback ones.
        pub fn allow_origin(origin: impl Into<Box<str>>) => self.origins.push(origin.into());

        /// Takes requests in parts, too: `multipart/related` whose first part is the message, where an argument
        /// `{"$part": "cid:ID"}` stands for the part with that `Content-ID`. The service sees the part in base64.
        /// Default: refused with 415.
        pub fn multipart() => self.multipart = true;

        /// Sets how much of a stream of a session is kept for a client that lost it. Default: 256 events, 1 MiB. Of the
        /// streams that finished, 16 are kept, for 5 minutes.
        pub fn replay(events: usize, bytes: usize) =>
            (self.replay_events, self.replay_bytes) = (events.max(1), bytes);

        /// Sets the path of the endpoint in [`serve`](super::serve()). Default: `/mcp`. HTTP+SSE has `/sse` and `/message`
        /// beside it.
        pub fn path(path: impl Into<Box<str>>) => self.path = path.into();

        /// Sets how long the head of a request may be in [`serve`](super::serve()), at least 8 KiB. Default: 64 KiB.
        pub fn max_header_bytes(bytes: usize) => self.max_header_bytes = bytes.max(8 << 10);
    }

    /// Returns the number of sessions that are open at the servers that have this configuration, or a clone of it.
    #[must_use]
    pub fn open_sessions(&self) -> usize {
        self.open_sessions.count()
    }

    /// Returns the number of event streams that clients read at the servers that have this configuration, or a clone of it.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.open_streams.load(Ordering::Relaxed)
    }
}

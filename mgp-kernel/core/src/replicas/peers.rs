//! The way from this kernel to the others, over mutual TLS, and the marks of the requests on it.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use hyper::body::Incoming;
use mgp_discovery::config::model::ListenTls;
use mgp_transport::http::{HttpBody, HttpClient, HttpClientBuilder};
use mgp_transport::token::SealingKey;
use mgp_types::{BoxFuture, Error, Principal, PrincipalKind};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, watch};
use tokio::time::Instant;

use super::leases::Leases;
use crate::call::RefusingService;
#[cfg(any(feature = "cluster", test))]
use {
    crate::StartError, crate::settings::running::AcceptedConfig, mgp_discovery::Config, mgp_store::OrderKey,
};

/// A function that answers a request of a client over HTTP.
pub(crate) type ClientFront =
    dyn Fn(Request<Incoming>) -> BoxFuture<'static, Result<Response<HttpBody>, Infallible>> + Send + Sync;

/// The other kernels, as far as calls are passed on to them and by them.
pub(crate) struct Peers {
    /// The address at which the others reach this kernel.
    pub(crate) address: String,
    /// The files of this kernel's certificate, and of the authority of all kernels.
    pub(crate) tls: ListenTls,
    pub(crate) leases: Leases,
    /// True once this kernel listens at the address.
    pub(crate) is_open: AtomicBool,
    /// The key that seals the ids of sessions.
    pub(crate) session_key: SealingKey,
    /// The kernel as its clients meet it over HTTP, once it serves them.
    pub(crate) clients: OnceLock<Weak<ClientFront>>,
    /// Read for each request of a client that another kernel passed on, until it is answered.
    passed_on: Arc<RwLock<()>>,
    /// The clients of other kernels by their addresses, with the time at which each was made.
    to_others: ArcSwap<BTreeMap<String, (Instant, HttpClient<RefusingService>)>>,
    /// The ids and addresses of the other kernels that told of themselves lately.
    pub(crate) seen: watch::Sender<BTreeSet<String>>,
}

impl Peers {
    /// Returns what `[cluster]` says; `None` if it has no address.
    #[cfg(any(feature = "cluster", test))]
    pub(crate) fn of(
        config: &Config,
        accepted: &AcceptedConfig,
        key: &OrderKey,
    ) -> Result<Option<Self>, StartError> {
        let settings = config.cluster.expanded(accepted);
        let settings = settings.map_err(|fault| StartError::Config(fault.to_string()))?;
        let Some(address) = settings.listen else { return Ok(None) };
        let mut tls = ListenTls::default();
        tls.certificate = settings.certificate.unwrap_or_default();
        tls.key = settings.key.unwrap_or_default();
        // Without an authority, nobody is let in.
        tls.client_ca = Some(settings.authority.unwrap_or_default());
        let (session_key, clients) = (SealingKey::new(key.derived("sessions")), OnceLock::new());
        let (leases, is_open, to_others) = (Leases::default(), AtomicBool::default(), ArcSwap::default());
        let (passed_on, seen) = (Arc::default(), watch::Sender::default());
        Ok(Some(Self { address, tls, leases, is_open, session_key, clients, passed_on, to_others, seen }))
    }

    /// Returns the kernel as its clients meet it, for a request of a client that another kernel passed on. It has to bring the
    /// client's key: what a client without one may do is decided where it connects. The guard is held until the request is
    /// answered.
    pub(crate) fn front_for(
        &self,
        headers: &HeaderMap,
    ) -> Option<(Arc<ClientFront>, OwnedRwLockReadGuard<()>)> {
        let is_passed_on = headers.get(MARKS).is_some_and(|marks| marks == OF_CLIENT);
        let clients = self.clients.get().filter(|_| is_passed_on && headers.contains_key(AUTHORIZATION))?;
        Some((clients.upgrade()?, Arc::clone(&self.passed_on).try_read_owned().ok()?))
    }

    /// Waits until the requests of clients that other kernels passed on are answered. From the first poll on no other is taken,
    /// for as long as the future or its output is held.
    pub(crate) fn refuse_clients(&self) -> impl Future<Output = OwnedRwLockWriteGuard<()>> + Send + use<> {
        Arc::clone(&self.passed_on).write_owned()
    }

    /// Returns the client of the kernel at this address, with the certificates as they were a minute ago at most.
    ///
    /// # Errors
    /// Fails if a file of `[cluster]` cannot be read or used.
    pub(crate) fn client(&self, address: &str) -> Result<HttpClient<RefusingService>, Error> {
        let known = self.to_others.load();
        if let Some((_, client)) = known.get(address).filter(|(made, _)| made.elapsed() < RENEWED_AFTER) {
            return Ok(client.clone());
        }
        let transport = self.secured()?(HttpClient::builder(format!("https://{address}/")));
        let client =
            transport.connect_with(RefusingService(Error::invalid_request("kernels ask nothing")))?;
        let mut known = BTreeMap::clone(&known);
        known.insert(address.to_owned(), (Instant::now(), client.clone()));
        self.to_others.store(Arc::new(known));
        Ok(client)
    }

    /// Waits until the kernel at this address does not tell of itself any more.
    pub(crate) fn lost(&self, address: String) -> impl Future<Output = ()> + Send + use<> {
        let (mut seen, mut missed) = (self.seen.subscribe(), 0);
        async move {
            while missed < MOST_MISSED && seen.changed().await.is_ok() {
                missed = if seen.borrow().contains(&address) { 0 } else { missed + 1 };
            }
        }
    }

    /// Returns the configuration of a client of a server that another kernel runs, for a connection with these marks.
    ///
    /// # Errors
    /// Fails if a file of `[cluster]` cannot be read, or the name of the caller cannot stand in a header.
    pub(crate) fn transport(
        &self,
        marks: &PeerMarks,
    ) -> Result<impl Fn(HttpClientBuilder) -> HttpClientBuilder + use<>, Error> {
        let secured = self.secured()?;
        let (header, is_sessionless) = (marks.to_header()?, !marks.has_session);
        Ok(move |transport: HttpClientBuilder| {
            let transport = secured(transport).header(MARKS, header.clone());
            if is_sessionless {
                transport.header(SESSIONLESS, HeaderValue::from_static("1"))
            } else {
                transport
            }
        })
    }

    /// Returns the configuration of a client of another kernel.
    fn secured(&self) -> Result<impl Fn(HttpClientBuilder) -> HttpClientBuilder + use<>, Error> {
        let read = |path: &str| {
            let unread = || Error::internal(format!("`[cluster]` in mgp.toml: {path} cannot be read"));
            fs::read(path).map_err(|error| unread().with_source(error))
        };
        let (chain, key) = (read(&self.tls.certificate)?, read(&self.tls.key)?);
        let authority = read(self.tls.client_ca.as_deref().unwrap_or_default())?;
        Ok(move |transport: HttpClientBuilder| {
            let transport = transport.only_root_certificates_pem(authority.clone());
            transport.client_certificate_pem(chain.clone(), key.clone())
        })
    }
}

/// The number of lists in a row in which a kernel may be missing: one that the database was away for tells of itself later than
/// others.
const MOST_MISSED: u8 = 5;

/// The time after which the certificates of a client are read again.
const RENEWED_AFTER: Duration = Duration::from_mins(1);

/// The marks of a request of another kernel, which only kernels can send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerMarks {
    /// The number of the lease by which the request is made.
    pub(crate) epoch: i64,
    /// The client whose connection to the server it is.
    pub(crate) caller: Principal,
    /// False if the requests of the caller belong to no session, so that they are those of one client at all kernels.
    pub(crate) has_session: bool,
}

impl PeerMarks {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let (epoch, caller) = std::str::from_utf8(headers.get(MARKS)?.as_bytes()).ok()?.split_once(' ')?;
        let (kind, name) = caller.split_once('/')?;
        let caller = Principal::of(PrincipalKind::read(kind)?, name);
        Some(Self { epoch: epoch.parse().ok()?, caller, has_session: !headers.contains_key(SESSIONLESS) })
    }

    fn to_header(&self) -> Result<HeaderValue, Error> {
        let Self { epoch, caller, .. } = self;
        let marks = HeaderValue::try_from(format!("{epoch} {}/{}", caller.kind(), caller.as_str()));
        let unfit = "an agent with control characters in its name cannot use the server of another kernel";
        marks.map_err(|error| Error::invalid_params(unfit).with_source(error))
    }
}

/// The header with the marks.
pub(crate) const MARKS: HeaderName = HeaderName::from_static("mgp-peer");
/// The header of a request whose caller has no session.
const SESSIONLESS: HeaderName = HeaderName::from_static("mgp-peer-sessionless");

/// The marks of a request of a client, which comes with the client's own key.
pub(crate) const OF_CLIENT: &str = "client";

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    impl Peers {
        /// Returns the way to the other kernels of one that listens at a free port.
        pub(crate) fn at_loopback(tls: ListenTls) -> Self {
            let (session_key, clients) = (SealingKey::new([1; 32]), OnceLock::new());
            let (leases, is_open, to_others) = (Leases::default(), AtomicBool::default(), ArcSwap::default());
            let (address, seen) = ("127.0.0.1:0".to_owned(), watch::Sender::default());
            let passed_on = Arc::default();
            Self { address, tls, leases, is_open, session_key, clients, passed_on, to_others, seen }
        }
    }

    #[test]
    fn the_marks_of_a_request_are_read_as_they_were_written_and_others_are_none() {
        let caller = Principal::of(PrincipalKind::LocalClient, "local/Größe 1/2");
        let marks = PeerMarks { epoch: 7, caller, has_session: true };
        let read = |header: HeaderValue| PeerMarks::of(&HeaderMap::from_iter([(MARKS, header)]));
        assert_eq!(read(marks.to_header().unwrap()), Some(marks));
        for wrong in ["", "7", "7 key holder", "7 nobody/x", "x agent/a"] {
            assert_eq!(read(wrong.parse().unwrap()), None, "{wrong}");
        }
    }

    #[test]
    fn clients_of_others_come_in_with_a_key_and_once_this_kernel_serves_clients() {
        let config = serde_json::from_str(r#"{"cluster":{"listen":"127.0.0.1:7334"}}"#).unwrap();
        let accepted = AcceptedConfig::new("".as_ref());
        let peers = Peers::of(&config, &accepted, &OrderKey::new("secret")).unwrap().unwrap();
        let header = |name, value: &'static str| (name, HeaderValue::from_static(value));
        let key = header(AUTHORIZATION, "Bearer mgp_1");
        let comes_in = |headers: &[(HeaderName, HeaderValue)]| {
            peers.front_for(&HeaderMap::from_iter(headers.to_vec())).is_some()
        };
        let passed_on = [header(MARKS, OF_CLIENT), key.clone()];
        assert!(!comes_in(&passed_on), "this kernel serves no clients yet");
        let front: Arc<ClientFront> = Arc::new(|_| Box::pin(async { Ok(Response::default()) }));
        peers.clients.set(Arc::downgrade(&front)).unwrap();
        assert!(comes_in(&passed_on));
        assert!(!comes_in(&passed_on[..1]), "it has no key");
        assert!(!comes_in(&passed_on[1..]), "no kernel marked it");
        assert!(!comes_in(&[header(MARKS, "7 agent/ada"), key]), "it is for a server");
        drop(front);
        assert!(!comes_in(&passed_on), "this kernel serves clients no more");
    }

    #[test]
    fn a_kernel_that_ends_takes_nothing_from_others_and_waits_for_what_it_took() {
        let peers = Peers::at_loopback(ListenTls::default());
        let front: Arc<ClientFront> = Arc::new(|_| Box::pin(async { Ok(Response::default()) }));
        peers.clients.set(Arc::downgrade(&front)).unwrap();
        let key = HeaderValue::from_static("Bearer mgp_1");
        let headers = [(MARKS, HeaderValue::from_static(OF_CLIENT)), (AUTHORIZATION, key)];
        let headers = HeaderMap::from_iter(headers);
        let (_, in_work) = peers.front_for(&headers).unwrap();
        let mut refusing = Box::pin(peers.refuse_clients());
        assert!((&mut refusing).now_or_never().is_none(), "a request is in work");
        assert!(peers.front_for(&headers).is_none());
        drop(in_work);
        assert!(peers.front_for(&headers).is_none(), "it does not pass the end, which waits");
        let refused = refusing.now_or_never();
        assert!(refused.is_some() && peers.front_for(&headers).is_none());
    }

    #[test]
    fn no_name_of_an_agent_ends_the_header() {
        let caller = Principal::new("a\r\nmgp-peer: 8");
        let marks = PeerMarks { epoch: 7, caller, has_session: true };
        assert!(marks.to_header().is_err());
    }
}

//! The way from this kernel to the others, over mutual TLS, and the marks of the requests on it.

use std::fs;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};
use mgp_discovery::Config;
use mgp_discovery::config::ProcessEnvironment;
use mgp_discovery::config::model::ListenTls;
use mgp_transport::http::{AfterRefusal, AuthorizationAnswer, Authorize, HttpClientBuilder, OutgoingRequest};
use mgp_types::{BoxFuture, Error, Principal, PrincipalKind};

use super::leases::{Lease, Leases};
use crate::StartError;

/// The other kernels, as far as calls are passed on to them and by them.
pub(crate) struct Peers {
    /// The address at which the others reach this kernel.
    pub(crate) address: String,
    /// The files of this kernel's certificate, and of the authority of all kernels.
    pub(crate) tls: ListenTls,
    pub(crate) leases: Leases,
}

impl Peers {
    /// Returns what `[cluster]` says; `None` if it has no address.
    pub(super) fn of(config: &Config) -> Result<Option<Self>, StartError> {
        let settings = config.cluster.expanded(&ProcessEnvironment);
        let settings = settings.map_err(|fault| StartError::Config(fault.to_string()))?;
        let Some(address) = settings.listen else { return Ok(None) };
        let mut tls = ListenTls::default();
        tls.certificate = settings.certificate.unwrap_or_default();
        tls.key = settings.key.unwrap_or_default();
        // Without an authority, nobody is let in.
        tls.client_ca = Some(settings.authority.unwrap_or_default());
        Ok(Some(Self { address, tls, leases: Leases::default() }))
    }

    /// Returns the configuration of a client of a server that the kernel with `lease` runs, for a connection of `caller`.
    ///
    /// # Errors
    /// Fails if a file of `[cluster]` cannot be read.
    pub(crate) fn transport(
        &self,
        lease: &Lease,
        caller: Principal,
    ) -> Result<impl Fn(HttpClientBuilder) -> HttpClientBuilder + use<>, Error> {
        let read = |path: &str| {
            let unread = || Error::internal(format!("`[cluster]` in mgp.toml: {path} cannot be read"));
            fs::read(path).map_err(|error| unread().with_source(error))
        };
        let (chain, key) = (read(&self.tls.certificate)?, read(&self.tls.key)?);
        let authority = read(self.tls.client_ca.as_deref().unwrap_or_default())?;
        let sender = Arc::new(MarkedRequests { epoch: lease.epoch, caller, last: AtomicU64::new(0) });
        Ok(move |transport: HttpClientBuilder| {
            let transport = transport.only_root_certificates_pem(authority.clone());
            let transport = transport.client_certificate_pem(chain.clone(), key.clone());
            transport.authorize_with(Arc::clone(&sender) as _)
        })
    }
}

/// The marks of a request of another kernel, which only kernels can send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerMarks {
    /// The number of the lease by which the request is made.
    pub(crate) epoch: i64,
    /// A number that no other request of its session has.
    pub(crate) number: u64,
    /// The client whose connection to the server it is.
    pub(crate) caller: Principal,
}

impl PeerMarks {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut marks = std::str::from_utf8(headers.get(MARKS)?.as_bytes()).ok()?.splitn(3, ' ');
        let (epoch, number) = (marks.next()?.parse().ok()?, marks.next()?.parse().ok()?);
        let (kind, name) = marks.next()?.split_once('/')?;
        Some(Self { epoch, number, caller: Principal::of(PrincipalKind::read(kind)?, name) })
    }

    fn to_headers(&self) -> Result<HeaderMap, Error> {
        let Self { epoch, number, caller } = self;
        let marks = HeaderValue::try_from(format!("{epoch} {number} {}/{}", caller.kind(), caller.as_str()));
        let unfit = "an agent with control characters in its name cannot use the server of another kernel";
        let marks = marks.map_err(|error| Error::invalid_params(unfit).with_source(error))?;
        Ok(HeaderMap::from_iter([(HeaderName::from_static(MARKS), marks)]))
    }
}

/// Marks each request to another kernel.
struct MarkedRequests {
    epoch: i64,
    caller: Principal,
    last: AtomicU64,
}

impl Authorize for MarkedRequests {
    fn authorize<'a>(&'a self, _: &'a OutgoingRequest<'a>) -> BoxFuture<'a, Result<HeaderMap, Error>> {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let marks = PeerMarks { epoch: self.epoch, number, caller: self.caller.clone() };
        Box::pin(ready(marks.to_headers()))
    }

    fn refused<'a>(
        &'a self,
        _: &'a OutgoingRequest<'a>,
        _: &'a AuthorizationAnswer<'a>,
    ) -> BoxFuture<'a, Result<AfterRefusal, Error>> {
        Box::pin(ready(Ok(AfterRefusal::Keep)))
    }
}

/// The header with the marks.
const MARKS: &str = "mgp-peer";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_of_a_request_are_read_as_they_were_written_and_others_are_none() {
        let caller = Principal::of(PrincipalKind::LocalClient, "local/Größe 1/2");
        let marks = PeerMarks { epoch: 7, number: 1, caller };
        assert_eq!(PeerMarks::of(&marks.to_headers().unwrap()), Some(marks));
        for wrong in ["", "7", "7 1", "7 1 key holder", "7 1 nobody/x", "x 1 agent/a", "7 -1 agent/a"] {
            let headers = HeaderMap::from_iter([(HeaderName::from_static(MARKS), wrong.parse().unwrap())]);
            assert_eq!(PeerMarks::of(&headers), None, "{wrong}");
        }
    }

    #[test]
    fn no_name_of_an_agent_ends_the_header() {
        let marks = PeerMarks { epoch: 7, number: 1, caller: Principal::new("a\r\nmgp-peer: 8") };
        assert!(marks.to_headers().is_err());
    }
}

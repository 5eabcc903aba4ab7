//! The way from this kernel to the others, over mutual TLS, and the marks of the requests on it.

use std::fs;
use std::sync::atomic::AtomicBool;

use http::{HeaderMap, HeaderName, HeaderValue};
use mgp_discovery::Config;
use mgp_discovery::config::ProcessEnvironment;
use mgp_discovery::config::model::ListenTls;
use mgp_transport::http::HttpClientBuilder;
use mgp_types::{Error, Principal, PrincipalKind};

use super::leases::{Lease, Leases};
use crate::StartError;

/// The other kernels, as far as calls are passed on to them and by them.
pub(crate) struct Peers {
    /// The address at which the others reach this kernel.
    pub(crate) address: String,
    /// The files of this kernel's certificate, and of the authority of all kernels.
    pub(crate) tls: ListenTls,
    pub(crate) leases: Leases,
    /// True once this kernel listens at the address.
    pub(crate) is_open: AtomicBool,
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
        Ok(Some(Self { address, tls, leases: Leases::default(), is_open: AtomicBool::default() }))
    }

    /// Returns the configuration of a client of a server that the kernel with `lease` runs, for a connection of `caller`.
    ///
    /// # Errors
    /// Fails if a file of `[cluster]` cannot be read, or the name of the caller cannot stand in a header.
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
        let marks = PeerMarks { epoch: lease.epoch, caller }.to_header()?;
        Ok(move |transport: HttpClientBuilder| {
            let transport = transport.only_root_certificates_pem(authority.clone());
            let transport = transport.client_certificate_pem(chain.clone(), key.clone());
            transport.header(MARKS, marks.clone())
        })
    }
}

/// The marks of a request of another kernel, which only kernels can send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerMarks {
    /// The number of the lease by which the request is made.
    pub(crate) epoch: i64,
    /// The client whose connection to the server it is.
    pub(crate) caller: Principal,
}

impl PeerMarks {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let (epoch, caller) = std::str::from_utf8(headers.get(MARKS)?.as_bytes()).ok()?.split_once(' ')?;
        let (kind, name) = caller.split_once('/')?;
        Some(Self { epoch: epoch.parse().ok()?, caller: Principal::of(PrincipalKind::read(kind)?, name) })
    }

    fn to_header(&self) -> Result<HeaderValue, Error> {
        let Self { epoch, caller } = self;
        let marks = HeaderValue::try_from(format!("{epoch} {}/{}", caller.kind(), caller.as_str()));
        let unfit = "an agent with control characters in its name cannot use the server of another kernel";
        marks.map_err(|error| Error::invalid_params(unfit).with_source(error))
    }
}

/// The header with the marks.
const MARKS: HeaderName = HeaderName::from_static("mgp-peer");

#[cfg(test)]
mod tests {
    use super::*;

    impl Peers {
        /// Returns the way to the other kernels of one that listens at a free port.
        pub(crate) fn at_loopback(tls: ListenTls) -> Self {
            let address = "127.0.0.1:0".to_owned();
            Self { address, tls, leases: Leases::default(), is_open: AtomicBool::default() }
        }
    }

    #[test]
    fn the_marks_of_a_request_are_read_as_they_were_written_and_others_are_none() {
        let caller = Principal::of(PrincipalKind::LocalClient, "local/Größe 1/2");
        let marks = PeerMarks { epoch: 7, caller };
        let read = |header: HeaderValue| PeerMarks::of(&HeaderMap::from_iter([(MARKS, header)]));
        assert_eq!(read(marks.to_header().unwrap()), Some(marks));
        for wrong in ["", "7", "7 key holder", "7 nobody/x", "x agent/a"] {
            assert_eq!(read(wrong.parse().unwrap()), None, "{wrong}");
        }
    }

    #[test]
    fn no_name_of_an_agent_ends_the_header() {
        let marks = PeerMarks { epoch: 7, caller: Principal::new("a\r\nmgp-peer: 8") };
        assert!(marks.to_header().is_err());
    }
}

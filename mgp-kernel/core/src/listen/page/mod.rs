//! The page for people: web pages of the kernel by which operators see and decide, on a port of its own.
//!
//! The page is one more client of the operations of operators: it sends the same requests as the commands, on a connection
//! to which the same rules apply, and decides nothing that a command could not. Everything works as plain forms; the script
//! only brings up to date what is shown. The port is opened when an operator first wants the page.

mod answer;
mod form;
mod guard;
mod layout;
mod logins;
mod page_client;
mod pages;
mod plot;
#[cfg_attr(not(feature = "sso"), path = "no_provider.rs")]
mod provider;
mod reply;
mod sign_in;

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use http::Extensions;
use http::uri::Authority;
use mgp_transport::http::{HttpConfig, serve_layered_until};
use mgp_types::{Error, Outbox};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower_layer::layer_fn;

use self::guard::{Browser, Scheme};
use self::logins::PageLogins;
use self::provider::PageProvider;
use crate::call::RefusingService;
use crate::kernel::Kernel;
use crate::lifecycle::{or_never, wait_for_stop};
use crate::listen::http::{FnService, ListenCertificate};

/// The page of one kernel, and the browsers that are signed in.
struct PageServer {
    kernel: Kernel,
    http: HttpConfig,
    scheme: Scheme,
    /// The identity provider by which people sign in, if there is one.
    provider: Option<PageProvider>,
    logins: PageLogins,
    /// A place for each passphrase that is checked, and each question to the identity provider, for somebody who is not
    /// signed in.
    guesses: Semaphore,
    /// True once the kernel ends.
    stopped: watch::Receiver<bool>,
}

/// Serves the page from when an operator first wants it until `stopped` says so.
pub(crate) async fn serve(kernel: Kernel, stopped: watch::Receiver<bool>) {
    let config = kernel.sections().config.load_full();
    tokio::select! {
        () = std::future::ready(()), if config.ui.enabled => {}
        () = kernel.sections().lifecycle.page.wanted() => {}
        () = wait_for_stop(stopped.clone()) => return,
    }
    let door = &kernel.sections().lifecycle.page;
    let PageSocket { socket, origins, certificate, provider } = match PageSocket::open(&kernel).await {
        Ok(opened) => opened,
        Err(error) => {
            tracing::warn!(%error, "the page is not served");
            door.note_served(Err(error.to_string()));
            return;
        }
    };
    kernel.sections().policies.pending.set_page(format!("{}/questions/", origins[0]));
    door.note_served(Ok(origins[0].clone()));
    let mut http = HttpConfig::default().mark_connections(|ends| {
        let mut marks = Extensions::new();
        marks.insert(Browser { ends, known: Arc::default() });
        Some(marks)
    });
    let mut scheme = Scheme::Http;
    if let Some(certificate) = &certificate {
        scheme = Scheme::Https;
        http = http.tls(certificate.tls.clone());
        http = config.listen.hosts().into_iter().fold(http, HttpConfig::allow_host);
        http = origins.into_iter().fold(http, HttpConfig::allow_origin);
    }
    let server = Arc::new(PageServer {
        kernel: kernel.clone(),
        http: http.clone(),
        scheme,
        provider,
        guesses: Semaphore::new(GUESSES),
        logins: PageLogins::new(kernel.clone()),
        stopped: stopped.clone(),
    });
    let layer = layer_fn(move |_| {
        let server = Arc::clone(&server);
        FnService(move |request| answer::answer(Arc::clone(&server), request))
    });
    let nobody = |_: Outbox| RefusingService(Error::invalid_request("this is a page for people"));
    let outcome = tokio::select! {
        outcome = serve_layered_until(socket, nobody, http, layer, wait_for_stop(stopped)) => outcome,
        never = or_never(certificate.map(ListenCertificate::watch)) => match never {},
    };
    if let Err(error) = outcome {
        tracing::warn!(%error, "the page is not served any more");
    }
}

/// The place at which browsers connect.
struct PageSocket {
    socket: TcpListener,
    /// The origins of the page, of which people are told the first.
    origins: Vec<String>,
    /// The certificate, where browsers on other machines may connect.
    certificate: Option<ListenCertificate>,
    /// The identity provider, where the configuration names one and there is a certificate.
    provider: Option<PageProvider>,
}

impl PageSocket {
    async fn open(kernel: &Kernel) -> io::Result<Self> {
        let running = &kernel.sections().config;
        let config = running.load_full();
        let address = config.ui.address().map_err(io::Error::other)?;
        let tls = config.listen.tls.as_ref().filter(|_| !address.ip().is_loopback());
        if tls.is_none() && !address.ip().is_loopback() {
            return Err(io::Error::other("`ui.listen` beyond this machine needs `[listen.tls]`"));
        }
        let certificate = tls.map(|tls| ListenCertificate::read(tls, "listen.tls")).transpose()?;
        let socket = TcpListener::bind(address).await?;
        let bound = socket.local_addr()?;
        let reached =
            if bound.ip().is_unspecified() { (Ipv4Addr::LOCALHOST, bound.port()).into() } else { bound };
        if certificate.is_none() {
            let origins = vec![format!("http://{reached}")];
            return Ok(Self { socket, origins, certificate, provider: None });
        }
        let named = |host: String| {
            Some(format!("https://{}:{}", host.parse::<Authority>().ok()?.host(), bound.port()))
        };
        let mut origins: Vec<String> = config.listen.hosts().into_iter().filter_map(named).collect();
        origins.push(format!("https://{reached}"));
        Ok(Self { socket, origins, certificate, provider: PageProvider::of(running)? })
    }
}

/// The number of passphrases and answers that are checked at once for those who are not signed in.
const GUESSES: usize = 4;

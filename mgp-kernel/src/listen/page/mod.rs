//! The page for people: web pages of the kernel by which operators see and decide, on a loopback port of its own.
//!
//! The page is one more client of the operations of operators: it sends the same requests as the commands, on a connection
//! to which the same rules apply, and decides nothing that a command could not. Everything works as plain forms; the script
//! only brings up to date what is shown. The port is opened when an operator first wants the page.

mod answer;
mod assets;
mod form;
mod guard;
mod layout;
mod live;
mod logins;
mod page_client;
mod pages;

use std::convert::Infallible;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Extensions, Request, Response};
use hyper::body::Incoming;
use mgp_transport::http::{HttpBody, HttpConfig, serve_layered_until};
use mgp_types::{Error, Outbox};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower_layer::layer_fn;
use tower_service::Service;

use self::guard::Browser;
use self::logins::PageLogins;
use crate::call::RefusingService;
use crate::kernel::Kernel;
use crate::lifecycle::wait_for_stop;

/// The page of one kernel, and the browsers that are signed in.
struct PageServer {
    kernel: Kernel,
    http: HttpConfig,
    logins: PageLogins,
    /// True once the kernel ends.
    stopped: watch::Receiver<bool>,
}

/// Serves the page from when an operator first wants it until `stopped` says so.
pub(crate) async fn serve(kernel: Kernel, stopped: watch::Receiver<bool>) {
    let settings = kernel.sections().config.load().ui.clone();
    tokio::select! {
        () = std::future::ready(()), if settings.enabled => {}
        () = kernel.sections().lifecycle.page.wanted() => {}
        () = wait_for_stop(stopped.clone()) => return,
    }
    let door = &kernel.sections().lifecycle.page;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, settings.port.unwrap_or(0)));
    let socket = match TcpListener::bind(address).await.and_then(|socket| Ok((socket.local_addr()?, socket)))
    {
        Ok((address, socket)) => {
            door.note_served(Ok(address));
            socket
        }
        Err(error) => {
            tracing::warn!(%error, "the page is not served");
            door.note_served(Err(error.to_string()));
            return;
        }
    };
    let http = HttpConfig::default().mark_connections(|ends| {
        let mut marks = Extensions::new();
        marks.insert(Browser::at(ends));
        Some(marks)
    });
    let server = Arc::new(PageServer {
        kernel: kernel.clone(),
        http: http.clone(),
        logins: PageLogins::default(),
        stopped: stopped.clone(),
    });
    let layer = layer_fn(move |_| PageService(Arc::clone(&server)));
    let nobody = |_: Outbox| RefusingService(Error::invalid_request("this is a page for people"));
    if let Err(error) = serve_layered_until(socket, nobody, http, layer, wait_for_stop(stopped)).await {
        tracing::warn!(%error, "the page is not served any more");
    }
}

/// The service that answers the requests of browsers.
#[derive(Clone)]
struct PageService(Arc<PageServer>);

type Answer = Result<Response<HttpBody>, Infallible>;

impl Service<Request<Incoming>> for PageService {
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let server = Arc::clone(&self.0);
        Box::pin(async move { Ok(answer::answer(server, request).await) })
    }
}

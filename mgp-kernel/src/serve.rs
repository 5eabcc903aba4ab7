//! A kernel that serves clients until it is told to stop.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mgp_transport::{ConnectionLimits, Until, connect, stdio};
use mgp_types::Principal;
use mgp_types::mgp::ShutdownReason;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::{Kernel, StartError};

/// Where a kernel serves.
#[derive(Debug, Clone)]
pub(crate) struct Serving {
    /// Over HTTP.
    pub(crate) http: Option<SocketAddr>,
    /// On standard input and output, for this client. When it goes and nothing else is served, the kernel ends.
    pub(crate) stdio: Option<Principal>,
    /// For its operators.
    pub(crate) socket: PathBuf,
    /// How long calls have to end when it stops.
    pub(crate) drain: Duration,
}

/// Serves until `stop` is done, or until nobody can come any more. Then calls in work have time to end, and servers are
/// stopped.
///
/// `listening` is told once where clients can connect over HTTP.
///
/// # Errors
/// Nobody can connect: an address or the socket is taken. Then nothing was served.
pub(crate) async fn serve(
    kernel: &Kernel,
    serving: Serving,
    stop: impl Future<Output = ()>,
    listening: impl FnOnce(Option<SocketAddr>),
) -> Result<(), StartError> {
    let unheard = |at: String| move |error: io::Error| StartError::Listen { at, error };
    #[cfg(unix)]
    let control = {
        let at = serving.socket.display().to_string();
        crate::operator::socket::ControlSocket::open(&serving.socket).map_err(unheard(at))?
    };
    let http = match serving.http {
        None => None,
        Some(address) => Some(TcpListener::bind(address).await.map_err(unheard(address.to_string()))?),
    };
    listening(http.as_ref().and_then(|socket| socket.local_addr().ok()));

    let (stopping, stopped) = watch::channel(false);
    // Each ends by itself when it is told to; whatever does not is aborted with the set.
    let mut clients = JoinSet::new();
    let mut operators = JoinSet::new();
    #[cfg(unix)]
    operators.spawn(control.serve(kernel.clone()));
    let has_http = http.is_some();
    if let Some(socket) = http {
        let (kernel, stopped) = (kernel.clone(), stopped.clone());
        clients.spawn(async move { kernel.serve_http(socket, told(stopped)).await });
    }
    if let Some(client) = serving.stdio {
        let (kernel, stopped) = (kernel.clone(), stopped.clone());
        clients.spawn(serve_stdio(kernel, client, stopped, !has_http));
    }
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(ended) = clients.join_next() => {
                if let Ok(Err(error)) = ended {
                    tracing::warn!(%error, "a way in has ended");
                }
                if clients.is_empty() {
                    break;
                }
            }
        }
    }
    tracing::info!("the kernel stops");
    kernel.stop_waiting();
    let _ = stopping.send(true);
    let drained = async { while clients.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(serving.drain, drained).await;
    kernel.shutdown(ShutdownReason::KernelShutdown, serving.drain).await;
    // Operators see it stop to the end.
    operators.shutdown().await;
    clients.shutdown().await;
    let _ = kernel.parts().audit.flush().await;
    let _ = kernel.parts().keys.note_uses_now().await;
    Ok(())
}

/// Serves the client on standard input and output. Unless it is `alone`, the kernel goes on without it.
async fn serve_stdio(
    kernel: Kernel,
    client: Principal,
    stopped: watch::Receiver<bool>,
    alone: bool,
) -> io::Result<()> {
    let (input, output) = stdio::stdio()?;
    let input = Until::new(input, told(stopped));
    let accept = kernel.accept(client);
    let (_, connection) = connect(input, output, &accept, ConnectionLimits::default());
    if let Err(error) = connection.await {
        tracing::debug!(%error, "the client on standard input and output is gone");
    }
    if alone {
        tracing::info!("the client on standard input and output is gone");
    }
    Ok(())
}

async fn told(mut stopped: watch::Receiver<bool>) {
    // It fails only if nobody is left who could tell.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

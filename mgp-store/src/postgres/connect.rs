//! How connections to PostgreSQL are made.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio::sync::Notify;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{AsyncMessage, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::unavailable;
use crate::Result;

/// Returns the settings of connections to the database at `url`, as [`Postgres::new`](super::Postgres::new) takes them.
pub(super) fn prepare(url: &str, ca: Option<&Path>) -> Result<(Config, MakeRustlsConnect)> {
    // The driver does not know the strictest mode, which is the only one here.
    let url = url.replace("sslmode=verify-full", "sslmode=require");
    let mut config: Config = url.parse().map_err(unavailable)?;
    let is_here = config.get_hosts().iter().all(is_this_machine)
        && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
    let is_in_the_clear = is_here && config.get_ssl_mode() != SslMode::Require;
    config.ssl_mode(if is_in_the_clear { SslMode::Disable } else { SslMode::Require });
    config.connect_timeout(CONNECT_TIME).application_name("mgp").tcp_user_timeout(CONNECT_TIME);
    config.keepalives_idle(KEEPALIVE_TIME);
    Ok((config, MakeRustlsConnect::new(tls(ca)?)))
}

fn tls(ca: Option<&Path>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(file) => {
            for certificate in CertificateDer::pem_file_iter(file).map_err(unavailable)? {
                roots.add(certificate.map_err(unavailable)?).map_err(unavailable)?;
            }
        }
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder.map_err(unavailable)?.with_root_certificates(roots).with_no_client_auth())
}

fn is_this_machine(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

pub(super) fn pool(config: Config, tls: MakeRustlsConnect) -> Result<Pool> {
    let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let pool = Pool::builder(Manager::from_config(config, tls, manager)).max_size(CONNECTIONS);
    let pool =
        pool.runtime(Runtime::Tokio1).wait_timeout(Some(CONNECT_TIME)).create_timeout(Some(CONNECT_TIME));
    pool.build().map_err(unavailable)
}

/// Tells `appended` of each notice, until the connection ends, and returns why it did.
pub(super) async fn listen(config: &Config, tls: MakeRustlsConnect, appended: &Notify) -> Error {
    let (client, mut connection) = match config.connect(tls).await {
        Ok(connected) => connected,
        Err(error) => return error,
    };
    let listening = async {
        match client.batch_execute("LISTEN mgp").await {
            // The client is kept: with it the connection would end.
            Ok(()) => std::future::pending().await,
            Err(error) => error,
        }
    };
    let notices = async {
        loop {
            match std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                Some(Ok(AsyncMessage::Notification(_))) => appended.notify_one(),
                Some(Ok(_)) => {}
                ended => break ended.and_then(Result::err),
            }
        }
    };
    tokio::select! {
        error = listening => error,
        Some(error) = notices => error,
        else => std::future::pending().await,
    }
}

/// The most connections of a kernel, besides the one that listens.
const CONNECTIONS: usize = 5;

/// The time after which a connection that is quiet, as the one that listens, is asked whether the database is still there.
const KEEPALIVE_TIME: Duration = Duration::from_secs(10);

/// The time in which a connection has to be made, or to become free.
const CONNECT_TIME: Duration = Duration::from_secs(2);

//! The certificate of HTTPS, read from files, and again when they change.

use std::fs;
use std::io;
use std::time::{Duration, SystemTime};

use mgp_discovery::config::model::ListenTls;
use mgp_transport::http::{ClientCertificates, TlsConfig};

/// The files of a certificate, and the handle by which new connections get what is in them.
pub(in crate::listen) struct ListenCertificate {
    files: ListenTls,
    /// The section of the configuration that names the files.
    section: &'static str,
    /// The settings of the listener.
    pub(in crate::listen) tls: TlsConfig,
    read_at: Option<[SystemTime; 2]>,
}

impl ListenCertificate {
    /// Reads the certificate that the configuration names.
    ///
    /// # Errors
    /// A file cannot be read, or has not what it should have.
    pub(in crate::listen) fn read(listen: &ListenTls, section: &'static str) -> io::Result<Self> {
        let (read_at, files) = (changed_at(listen), listen.clone());
        let (chain, key) = (pem(&listen.certificate, section)?, pem(&listen.key, section)?);
        let tls = TlsConfig::from_pem(&chain, &key);
        let mut tls = tls.map_err(|error| unusable(listen, section, &error))?;
        if let Some(authorities) = &listen.client_ca {
            let wrong = |error| io::Error::other(format!("`{section}` cannot use {authorities}: {error}"));
            let pem = pem(authorities, section)?;
            tls = tls.client_authorities(&pem, ClientCertificates::Required).map_err(wrong)?;
        }
        Ok(Self { files, section, tls, read_at })
    }

    /// Reads the files again whenever they change. What cannot be used is reported, and the certificate before stays.
    pub(in crate::listen) async fn watch(mut self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(LOOK).await;
            let changed_at = changed_at(&self.files);
            if changed_at.is_none() || changed_at == self.read_at {
                continue;
            }
            self.read_at = changed_at;
            match self.reload() {
                Ok(()) => tracing::info!("new connections get the certificate that was just read"),
                Err(error) => tracing::error!(%error, "the certificate stays as it was"),
            }
        }
    }

    fn reload(&self) -> io::Result<()> {
        let Self { files, section, .. } = self;
        let (chain, key) = (pem(&files.certificate, section)?, pem(&files.key, section)?);
        self.tls.reload(&chain, &key).map_err(|error| unusable(files, section, &error))
    }
}

/// Returns when the files were last written; `None` while one of them is not there.
fn changed_at(files: &ListenTls) -> Option<[SystemTime; 2]> {
    let at = |path: &str| fs::metadata(path).and_then(|file| file.modified()).ok();
    Some([at(&files.certificate)?, at(&files.key)?])
}

fn unusable(files: &ListenTls, section: &str, error: &dyn std::fmt::Display) -> io::Error {
    let ListenTls { certificate, key, .. } = files;
    io::Error::other(format!("`{section}` cannot use {certificate} with {key}: {error}"))
}

fn pem(path: &str, section: &str) -> io::Result<Vec<u8>> {
    fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("`{section}` cannot read {path}: {error}")))
}

/// The time between two looks at the files.
const LOOK: Duration = Duration::from_secs(20);

//! The certificate of HTTPS, read from files, and again when they change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mgp_discovery::config::model::{ClientCertificateUse, ListenTls};
use mgp_transport::http::{ClientCertificates, TlsConfig};

/// The files of a certificate, and the handle by which new connections get what is in them.
pub(super) struct ListenCertificate {
    files: CertificateFiles,
    tls: TlsConfig,
    read_at: Option<[SystemTime; 2]>,
}

struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
}

/// Checks the certificate that the configuration names.
///
/// # Errors
/// A file cannot be read, or has not what it should have.
pub(in crate::listen) fn check_certificate(listen: &ListenTls) -> io::Result<()> {
    ListenCertificate::read(listen).map(drop)
}

impl ListenCertificate {
    /// Reads the certificate that the configuration names.
    ///
    /// # Errors
    /// A file cannot be read, or has not what it should have.
    pub(super) fn read(listen: &ListenTls) -> io::Result<Self> {
        let files = CertificateFiles {
            certificate: listen.certificate.as_str().into(),
            key: listen.key.as_str().into(),
        };
        let read_at = files.changed_at();
        let (chain, key) = files.read()?;
        let mut tls = TlsConfig::from_pem(&chain, &key).map_err(|error| files.unusable(&error))?;
        if let Some(authorities) = &listen.client_ca {
            let wanted = match listen.client_certificates {
                ClientCertificateUse::Optional => ClientCertificates::Optional,
                _ => ClientCertificates::Required,
            };
            let path = Path::new(authorities);
            let pem = fs::read(path).map_err(|error| unreadable(path, &error))?;
            tls = tls.client_authorities(&pem, wanted).map_err(|error| {
                io::Error::other(format!("`listen.tls.client_ca`, {authorities}: {error}"))
            })?;
        }
        Ok(Self { files, tls, read_at })
    }

    /// Returns the settings of the listener.
    pub(super) fn tls(&self) -> TlsConfig {
        self.tls.clone()
    }

    /// Reads the files again whenever they change. What cannot be used is reported, and the certificate before stays.
    pub(super) async fn watch(mut self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(LOOK).await;
            let changed_at = self.files.changed_at();
            if changed_at.is_none() || changed_at == self.read_at {
                continue;
            }
            self.read_at = changed_at;
            let files = &self.files;
            let taken = files.read().and_then(|(chain, key)| {
                self.tls.reload(&chain, &key).map_err(|error| files.unusable(&error))
            });
            match taken {
                Ok(()) => tracing::info!("new connections get the certificate that was just read"),
                Err(error) => tracing::error!(%error, "the certificate stays as it was"),
            }
        }
    }
}

impl CertificateFiles {
    fn read(&self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let read = |path: &Path| fs::read(path).map_err(|error| unreadable(path, &error));
        Ok((read(&self.certificate)?, read(&self.key)?))
    }

    /// Returns when the files were last written; `None` while one of them is not there.
    fn changed_at(&self) -> Option<[SystemTime; 2]> {
        let at = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
        Some([at(&self.certificate)?, at(&self.key)?])
    }

    fn unusable(&self, error: &dyn std::fmt::Display) -> io::Error {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        io::Error::other(format!("`listen.tls` cannot use {certificate} with {key}: {error}"))
    }
}

fn unreadable(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`listen.tls` cannot read {}: {error}", path.display()))
}

/// The time between two looks at the files.
const LOOK: Duration = Duration::from_secs(20);

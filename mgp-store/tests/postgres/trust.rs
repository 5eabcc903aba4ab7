//! Whom a kernel takes for its database.

use std::path::{Path, PathBuf};
use std::process::Command;

use mgp_store::{Postgres, StoreError};

use super::server::{RUNTIME, Server, run};

#[test]
fn a_database_is_known_by_a_certificate_of_its_authority_for_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let [own, other] = ["own", "other"].map(|name| authority(folder.path(), name));
    let server = Server::start();
    let name = server.new_database();
    let connected = |ca: &Path, host: &str| {
        connects(&server.url(&name, "?sslmode=verify-full").replace("127.0.0.1", host), Some(ca))
    };
    let refused = |ca: &Path| {
        let error = connected(ca, "127.0.0.1").unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    };
    refused(&own);
    let (certificate, key) = certificate(folder.path(), "own", "IP:127.0.0.1");
    server.take_certificate(&certificate, &key);
    server.restart("ssl = on\n");
    connected(&own, "127.0.0.1").unwrap();
    refused(&other);
    assert!(connected(&own, "localhost").is_err(), "the certificate is not for this name");
    let url = server.url(&name, "?sslmode=verify-full");
    assert!(connects(&url, None).is_err(), "the web's authorities do not vouch for it");
}

#[test]
fn beyond_this_machine_nothing_is_sent_in_the_clear() {
    let server = Server::start();
    let name = server.new_database();
    let address = server.url(&name, "?sslmode=disable");
    connects(&address, None).unwrap();
    // A name that leads to this machine, and one that says so but leads elsewhere.
    for url in [
        address.replace("127.0.0.1", "0.0.0.0"),
        format!("{}&hostaddr=0.0.0.0", address.replace("127.0.0.1", "localhost")),
    ] {
        assert!(connects(&url, None).is_err());
    }
}

fn connects(url: &str, ca: Option<&Path>) -> Result<(), StoreError> {
    RUNTIME.block_on(async { Postgres::new(url, ca)?.client().await.map(drop) })
}

/// Makes an authority, and returns its certificate.
fn authority(folder: &Path, name: &str) -> PathBuf {
    let certificate = folder.join(format!("{name}.pem"));
    let mut make = openssl(folder);
    make.args([
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
    ]);
    make.args(["-subj", &format!("/CN={name}"), "-keyout", &format!("{name}.key"), "-out"]);
    run(make.arg(&certificate));
    certificate
}

/// Makes a certificate of an authority for `subject`, and returns it and its key.
fn certificate(folder: &Path, authority: &str, subject: &str) -> (PathBuf, PathBuf) {
    let (certificate, key) = (folder.join("server.pem"), folder.join("server.key"));
    let mut make = openssl(folder);
    make.args([
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
    ]);
    make.args([
        "-CA",
        &format!("{authority}.pem"),
        "-CAkey",
        &format!("{authority}.key"),
        "-subj",
        "/CN=database",
    ]);
    make.args([
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-addext",
        &format!("subjectAltName={subject}"),
    ]);
    run(make.arg("-keyout").arg(&key).arg("-out").arg(&certificate));
    (certificate, key)
}

fn openssl(folder: &Path) -> Command {
    let mut openssl = Command::new("openssl");
    openssl.current_dir(folder);
    openssl
}

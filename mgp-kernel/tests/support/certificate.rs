use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::home::Home;

/// Writes a certificate for `localhost`, and returns the table `[listen.tls]` that names it, and the certificate.
pub(crate) fn self_signed(files: &Home) -> (String, CertificateDer<'static>) {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = |label: &str, der: &[u8]| {
        let encoded = mgp_server_sdk::base64(der);
        let lines: Vec<_> = encoded.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
    };
    files.write("tls.crt", &pem("CERTIFICATE", issued.cert.der()));
    files.write("tls.key", &pem("PRIVATE KEY", &issued.signing_key.serialize_der()));
    let place = |name: &str| files.path(name).display().to_string();
    let tls = format!("[listen.tls]\ncertificate = {:?}\nkey = {:?}\n", place("tls.crt"), place("tls.key"));
    (tls, issued.cert.der().clone())
}

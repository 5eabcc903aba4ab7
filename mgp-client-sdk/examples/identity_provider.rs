//! An identity provider for trying authorization out on this machine: `identity_provider [--port PORT] [--path PATH]
//! [--subject NAME] [--algorithm RS256|ES256|EdDSA] [--opaque] [--nonce] [--scope SCOPE]…`. It prints its issuer. With
//! `--subject` that person consents to everything; without, a page asks for a name. It proves nothing about anybody, and is
//! for tests alone.

#[path = "../tests/identity_provider/mod.rs"]
mod identity_provider;

use std::process::ExitCode;

use identity_provider::{Consent, IdentityProvider};
use mgp_client_sdk::oauth::Algorithm;

/// What the command line says.
struct Options {
    port: u16,
    path: String,
    consent: Consent,
    algorithm: Algorithm,
    is_opaque: bool,
    demands_nonce: bool,
    scopes: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the issuer is what a caller reads")]
async fn main() -> ExitCode {
    let Some(options) = read(std::env::args().skip(1)) else {
        eprintln!(
            "identity_provider [--port PORT] [--path PATH] [--subject NAME] [--algorithm RS256|ES256|EdDSA] \
             [--opaque] [--nonce] [--scope SCOPE]..."
        );
        return ExitCode::FAILURE;
    };
    let provider = IdentityProvider::start_at(options.port, &options.path).await;
    provider.set(|settings| {
        settings.consent = options.consent;
        settings.algorithm = options.algorithm;
        settings.is_opaque = options.is_opaque;
        settings.demands_nonce = options.demands_nonce;
        settings.scopes.extend(options.scopes);
    });
    println!("{}", provider.issuer());
    std::future::pending().await
}

fn read(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options {
        port: 0,
        path: String::new(),
        consent: Consent::Asked,
        algorithm: Algorithm::ES256,
        is_opaque: false,
        demands_nonce: false,
        scopes: Vec::new(),
    };
    while let Some(option) = arguments.next() {
        match &*option {
            "--port" => options.port = arguments.next()?.parse().ok()?,
            "--path" => options.path = arguments.next()?,
            "--subject" => options.consent = Consent::Of(arguments.next()?),
            "--algorithm" => {
                options.algorithm = match &*arguments.next()? {
                    "RS256" => Algorithm::RS256,
                    "ES256" => Algorithm::ES256,
                    "EdDSA" => Algorithm::EdDSA,
                    _ => return None,
                }
            }
            "--opaque" => options.is_opaque = true,
            "--nonce" => options.demands_nonce = true,
            "--scope" => options.scopes.push(arguments.next()?),
            _ => return None,
        }
    }
    Some(options)
}

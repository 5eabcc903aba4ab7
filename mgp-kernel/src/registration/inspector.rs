use std::path::Path;

use mgp_discovery::registry::{InspectCode, Inspection, Script};
use mgp_security::code_safety::{CodePolicy, Method, scan};
use mgp_types::BoxFuture;
use mgp_types::mgp::{CodeSafety, SafetyLevel};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncReadExt as _;

/// Reads scripts by the code safety framework at its strictest level (§7).
#[derive(Debug)]
pub(super) struct StrictInspector;

impl InspectCode for StrictInspector {
    fn inspect<'a>(&'a self, script: Script<'a>) -> BoxFuture<'a, Inspection> {
        Box::pin(async move {
            match read(script.path).await {
                Ok(code) => inspected(&code, script.language),
                Err(error) => Inspection::Unreadable(format!("{}: {error}", script.path.display())),
            }
        })
    }
}

fn inspected(code: &str, language: &str) -> Inspection {
    let mut declaration = CodeSafety::new(SafetyLevel::Strict);
    declaration.language = Some(language.into());
    match scan(code, &CodePolicy::new(&declaration)) {
        Ok(scanned) if scanned.method == Method::Unchecked => {
            Inspection::Unreadable(format!("nobody here can read {language}"))
        }
        Ok(_) => Inspection::Harmless { digest: digest(code) },
        Err(rejection) => Inspection::Rejected(Box::new(rejection)),
    }
}

fn digest(code: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(code).iter().fold(String::from("sha256:"), |mut text, byte| {
        // A string takes whatever is written to it.
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

async fn read(path: &Path) -> std::io::Result<String> {
    let mut code = String::new();
    let file = tokio::fs::File::open(path).await?;
    file.take(MOST_BYTES + 1).read_to_string(&mut code).await?;
    if code.len() as u64 > MOST_BYTES {
        return Err(std::io::Error::other("it is too long to be inspected"));
    }
    Ok(code)
}

const MOST_BYTES: u64 = 1 << 20;

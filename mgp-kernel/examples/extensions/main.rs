//! Each optional extension at work: a small server, a kernel in front of it, and a client that declares the extension.
//!
//! ```text
//! cargo run -p mgp-kernel --example extensions -- cost_transparency
//! ```
//!
//! Without a name, all of them are shown.

#![expect(clippy::print_stdout, reason = "what the examples print is what they are run for")]

mod carried;
mod documents;
mod effects;
mod envelopes;
mod errors;
mod hints;
mod scopes;
mod stage;

use std::process::ExitCode;

use mgp_types::BoxFuture;
use mgp_types::ext::ExtensionId;

use self::stage::Shown;

/// An example, which returns what it shows.
type Example = fn() -> BoxFuture<'static, Shown>;

const EXAMPLES: &[(ExtensionId, Example)] = &[
    (ExtensionId::ServiceManifest, || Box::pin(documents::manifest())),
    (ExtensionId::ServerRecommendations, || Box::pin(documents::recommendations())),
    (ExtensionId::StructuredErrors, || Box::pin(errors::structured())),
    (ExtensionId::ToolRegistry, || Box::pin(errors::registry())),
    (ExtensionId::Envelopes, || Box::pin(envelopes::envelopes())),
    (ExtensionId::IntentHints, || Box::pin(hints::intent())),
    (ExtensionId::CostTransparency, || Box::pin(hints::costs())),
    (ExtensionId::Provenance, || Box::pin(hints::provenance())),
    (ExtensionId::MultimodalSignatures, || Box::pin(hints::media())),
    (ExtensionId::ScopedAuth, || Box::pin(scopes::scopes())),
    (ExtensionId::Idempotency, || Box::pin(effects::idempotency())),
    (ExtensionId::Transactions, || Box::pin(effects::transactions())),
    (ExtensionId::HumanInTheLoop, || Box::pin(carried::confirmations())),
    (ExtensionId::SessionState, || Box::pin(carried::state())),
    (ExtensionId::Streaming, || Box::pin(carried::checkpoints())),
    (ExtensionId::DataReferences, || Box::pin(carried::references())),
];

#[tokio::main]
async fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = wanted.iter().find(|name| EXAMPLES.iter().all(|(id, _)| id.name() != **name)) {
        let names: Vec<_> = EXAMPLES.iter().map(|(id, _)| id.name()).collect();
        eprintln!("there is no example `{unknown}`, but {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    for (id, example) in EXAMPLES {
        if !wanted.is_empty() && wanted.iter().all(|name| name != id.name()) {
            continue;
        }
        println!("# {}", id.name());
        match example().await {
            Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page that shows what the examples print.
    const PAGE: &str = include_str!("../../../docs/extensions.md");

    #[tokio::test]
    async fn the_examples_print_what_the_page_shows() {
        let mut shown = "```console\n$ cargo run -q -p mgp-kernel --example extensions\n".to_owned();
        for (id, example) in EXAMPLES {
            let name = id.name();
            let printed = example().await.unwrap_or_else(|error| panic!("{name}: {error}")).join("\n");
            shown.extend(["# ", name, "\n", &printed, "\n"]);
            assert!(PAGE.contains(&shown), "the page does not show this:\n{shown}");
        }
    }
}

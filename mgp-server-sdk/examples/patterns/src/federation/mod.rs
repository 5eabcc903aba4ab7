//! Federation: the tools of kernels elsewhere.
//!
//! `federated_call` and `federated_discover` reach all instances. With `--server`, the program is one server of one
//! instance, and with `--register-at` it has the local kernel start one such program for each server of each instance.

mod call;
mod discover;
mod failure;
mod follow;
mod instance;
mod proxy;
mod register;
mod remote;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use mgp_server_sdk::{Server, ServerLifecycle, Tool};
use mgp_types::mgp::{ExtensionSet, Offer, Permission, RiskLevel, SideEffect, ToolSecurity, ValidatorName};
use tokio::task::JoinSet;

use self::call::federated_call;
use self::discover::federated_discover;
use self::follow::follow;
use self::instance::{ApiKey, Instance, InstanceUrl, OfInstance, instances};
use self::proxy::Proxy;
use self::register::{EXTENSIONS, Registrations};
use self::remote::{Instances, RemoteKernel};

/// The options of `mgp-patterns federation`.
#[derive(Debug, Args)]
pub(super) struct FederationServerArgs {
    /// A kernel elsewhere: its name, and the URL of its endpoint; repeat for more
    #[arg(long = "instance", value_name = "NAME=URL", required = true)]
    instances: Vec<OfInstance<InstanceUrl>>,
    /// The variable of the environment that holds the API key of an instance
    #[arg(long = "key-env", value_name = "NAME=VARIABLE")]
    keys: Vec<OfInstance<String>>,
    /// A file of certificates (PEM) that are trusted for an instance, besides the public authorities
    #[arg(long = "ca", value_name = "NAME=FILE")]
    authorities: Vec<OfInstance<String>>,
    /// The seconds that an instance may take to answer, or to report progress
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Be one server of an instance: offer its tools under their own names
    #[arg(long, value_name = "NAME.SERVER", conflicts_with = "register_at")]
    server: Option<String>,
    /// Register the servers of all instances as remote.NAME.SERVER with the kernel at this URL
    #[arg(long, value_name = "URL", requires = "register_key")]
    register_at: Option<InstanceUrl>,
    /// The variable of the environment that holds the API key for the registrations
    #[arg(long = "register-key-env", value_name = "VARIABLE", requires = "register_at")]
    register_key: Option<String>,
}

/// Serves the federation on standard input and output.
///
/// # Errors
/// Fails if an instance lacks its key or certificates, or if the connection broke.
pub(super) async fn serve(args: FederationServerArgs) -> anyhow::Result<()> {
    let timeout = Duration::from_secs(args.timeout);
    let found = instances(&args.instances, &args.keys, &args.authorities)?;
    let instances = Instances::new(found, timeout);
    // The tasks end with the server.
    let mut background = JoinSet::new();
    if let Some(named) = &args.server {
        let (instance, server) =
            named.split_once('.').with_context(|| format!("`{named}` lacks a `.`: write NAME.SERVER"))?;
        let remote = instances.get(instance).map_err(|error| anyhow::Error::msg(error.to_string()))?;
        let here = Server::new(server, env!("CARGO_PKG_VERSION")).mgp(offer()).dynamic();
        let mut proxy = Proxy::new(Arc::clone(remote), server.to_owned(), here.handle());
        let server = proxy.offer_first(here).await;
        background.spawn(follow(proxy));
        return serve_here(server).await;
    }
    if let (Some(url), Some(variable)) = (args.register_at, &args.register_key) {
        let local = Instance { name: "local".parse()?, url, key: ApiKey::read(variable)?, authorities: None };
        let local = Arc::new(RemoteKernel::new(local, timeout));
        let program = std::env::args().next().unwrap_or_else(|| "mgp-patterns".into());
        for (_, remote) in instances.all() {
            let (remote, local, program) = (Arc::clone(remote), Arc::clone(&local), program.clone());
            background.spawn(follow(Registrations { remote, local, program, known: BTreeSet::new() }));
        }
    }
    serve_here(server(instances)).await
}

/// The server of the two federated tools.
fn server(instances: Instances) -> Server {
    // A call may do anything at the other kernel, which this one cannot know.
    let calls = ToolSecurity::new(RiskLevel::Dangerous)
        .with_permissions([Permission::NetworkOutbound])
        .with_side_effects([SideEffect::Network])
        .with_validator(ValidatorName::NetworkRestricted)
        .with_target_arguments(["instance", "server_id", "tool_name"]);
    let searches = ToolSecurity::new(RiskLevel::Moderate)
        .with_permissions([Permission::NetworkOutbound])
        .with_side_effects([SideEffect::Network])
        .with_validator(ValidatorName::NetworkRestricted)
        .with_target_arguments(["instances"]);
    Server::new("federation", env!("CARGO_PKG_VERSION"))
        .mgp(offer())
        .state(instances)
        .tool(
            Tool::new("federated_call", "Calls a tool of a server of another kernel.").security(&calls),
            federated_call,
        )
        .tool(
            Tool::new("federated_discover", "Finds tools of other kernels by a need in words.")
                .read_only()
                .security(&searches),
            federated_discover,
        )
}

fn offer() -> Offer {
    Offer::new(ExtensionSet::from_names(EXTENSIONS))
        .with_permissions_required([Permission::NetworkOutbound.as_str()])
}

async fn serve_here(server: Server) -> anyhow::Result<()> {
    let life = ServerLifecycle::new("federation".into());
    Ok(server.lifecycle(&life).streaming().serve_stdio().await?)
}

#[cfg(test)]
mod tests;

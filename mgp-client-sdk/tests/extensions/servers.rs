//! Connections to servers of the SDK in this process.

use mgp_client_sdk::types::ext::ExtensionId;
use mgp_client_sdk::{Client, ClientBuilder, EraMode, Object, RpcService};
use mgp_server_sdk::{Server, ServerCore};
use tower_layer::Layer;

use crate::peer::PlainClient;

pub(crate) const MODES: [EraMode; 2] = [EraMode::Session, EraMode::Stateless];

/// Connects to a server in one era.
pub(crate) async fn connect<L>(server: Server<L>, builder: ClientBuilder, mode: EraMode) -> PlainClient
where
    L: Layer<ServerCore, Service: RpcService + Sync + Unpin>,
{
    builder.era(mode).in_process(server.accept().unwrap()).await.unwrap()
}

/// Returns the builder of a client that declares these extensions.
pub(crate) fn declaring(extensions: &[ExtensionId]) -> ClientBuilder {
    let builder = Client::builder("tester", "1.0.0");
    extensions.iter().fold(builder, |builder, id| builder.extension(id.id(), &Object::new()))
}

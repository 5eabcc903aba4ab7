//! Tests of the supervisor, and the fixtures they share.

use std::time::Duration;

use futures_util::FutureExt;
use mgp_types::mgp::ServerState;
use mgp_types::{Error, Object, Request, Response, RpcService};
use tower_service::Service;

use super::{ConnectedServer, Supervised, SupervisedService, Supervisor};
use crate::doubles::{FakeServerHost, Incarnation, millis, secs};
use mgp_types::mgp::RestartPolicy;

use crate::{LifecycleChanges, RestartSettings};

mod attacks;
mod gate;
mod health;
mod many;
mod orders;
mod restarts;
mod seeds;
mod states;

type Server = Supervised<Incarnation>;

/// Returns a server that was started and is connected.
async fn running(world: &FakeServerHost) -> Server {
    let server = world.supervisor("s").spawn();
    up(&server).await;
    server
}

/// Returns a server with this service, which was started and is connected.
async fn serving<S: RpcService + Sync>(service: S) -> Supervised<S> {
    let connect = move || {
        let service = service.clone();
        async { Ok(ConnectedServer::new(service, std::future::pending())) }
    };
    let server = Supervisor::new("s".into(), connect).spawn();
    server.start();
    server.ready(secs(1)).await.unwrap();
    server
}

async fn up(server: &Server) {
    server.start();
    server.ready(secs(10)).await.unwrap();
}

/// Lets everything happen that takes no time.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Returns the states that the server went to since the last call.
fn went_to(changes: &mut LifecycleChanges) -> Vec<ServerState> {
    std::iter::from_fn(|| changes.next().now_or_never().flatten()).map(|change| change.new_state).collect()
}

fn policy(policy: RestartPolicy) -> RestartSettings {
    RestartSettings { restart_policy: policy, ..RestartSettings::default() }
}

async fn call(mut gate: SupervisedService<Incarnation>) -> Result<Response, Error> {
    gate.call(request()).await
}

fn request() -> Request {
    Request::call("tools/call", Object::new())
}

//! The health of the server, and its shutdown (MGP §11.3, §11.4).

use mgp_types::mgp::{HealthPing, HealthPong, HealthReport, Shutdown, ShutdownAnswer, Timestamp, method};
use mgp_types::{Params, Request, Response, RpcService};

use crate::{Call, Client};

impl<S: RpcService> Client<S> {
    /// Asks whether the server is alive.
    pub fn health(&self) -> Call<S, HealthPong> {
        let ping = HealthPing::new(Timestamp::now());
        self.call(Request::with_body(method::HEALTH_PING, &ping), Response::body)
    }

    /// Asks for the health of the server, with the checks that it made.
    pub fn health_report(&self) -> Call<S, HealthReport> {
        self.call(Ok(Request::call(method::HEALTH_STATUS, Params::new())), Response::body)
    }

    /// Asks the server to stop once its calls are done. The server closes the connection itself.
    pub fn shut_down(&self, shutdown: &Shutdown) -> Call<S, ShutdownAnswer> {
        self.call(Request::with_body(method::LIFECYCLE_SHUTDOWN, shutdown), Response::body)
    }
}

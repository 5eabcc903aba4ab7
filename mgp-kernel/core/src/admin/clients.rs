//! The clients of this machine that are connected, and which of them an operator trusts to let a person answer.

use clap::Args;
use mgp_types::Error;
use serde::{Deserialize, Serialize};

use super::operation::{KernelNeed, Operation, OperatorCall};
use crate::lifecycle::socket_connections::SocketClient;
use crate::terminal::line_form;

/// Trusts a client that is connected: until it leaves, what a person answers in it counts.
#[derive(Debug, Serialize, Deserialize, Args)]
pub struct TrustClient {
    /// The process number of the client's `mgp serve`, as `mgp status` shows it; may be left out where one client is connected
    pub(crate) pid: Option<u32>,
}

/// A client that is trusted now.
#[derive(Debug, Serialize, Deserialize)]
pub struct TrustedClient {
    pid: u32,
    /// The name and version that the client gives of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
    /// The program that has started the process.
    program: String,
}

impl Operation for TrustClient {
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = TrustedClient;

    async fn run(self, call: &OperatorCall) -> Result<TrustedClient, Error> {
        let connected = call.kernel.lifecycle.connections.clients().into_iter();
        let of_machine = connected.filter_map(|client| Some((shown(&client)?, client)));
        let mut named: Vec<_> =
            of_machine.filter(|(shown, _)| self.pid.is_none_or(|pid| pid == shown.pid)).collect();
        let Some((trusted, client)) = named.pop().filter(|_| named.is_empty()) else {
            return Err(Error::invalid_params(match self.pid {
                Some(pid) => {
                    format!("no client is connected through the process {pid}: `mgp status` shows the clients")
                }
                None => "name the client by its process number, which `mgp status` shows, unless one client is connected".to_owned(),
            }));
        };
        let pid = trusted.pid.to_string();
        call.record_act("dev.cloto.mgp.client_trusted", &[("pid", &pid), ("program", &trusted.program)])
            .await?;
        client.session.trust();
        Ok(trusted)
    }
}

fn shown(client: &SocketClient) -> Option<TrustedClient> {
    let (pid, program) = client.process.clone()?;
    Some(TrustedClient { pid, said: client.session.said().map(str::to_owned), program: program.into() })
}

line_form!(TrustedClient, |client| format_args!(
    "what a person answers in {} counts until it leaves: process {}, started by `{}`",
    client.said.as_deref().unwrap_or("a client without a name"),
    client.pid,
    client.program
));

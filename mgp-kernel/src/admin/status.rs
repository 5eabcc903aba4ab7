//! The status of a running kernel as a process: since when and for whom it runs, and when it ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::Error;
use mgp_types::mgp::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::operation::{Operation, OperatorCall, ProofNeed};
use super::servers::{ServerList, ServerRow};
use crate::lifecycle::{HttpListening, Lifecycle, ServedKernel};
use crate::sections::Sections;

/// Reads the status of the kernel.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReadStatus {}

/// Stops the kernel once calls in work have ended, as a signal does. The reply is its last status.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StopKernel {}

/// The status of a kernel.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KernelStatus {
    pub(crate) running: bool,
    pub(crate) pid: u32,
    pub(crate) version: String,
    pub(crate) since: Timestamp,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) state: PathBuf,
    /// The number of seconds for which the kernel goes on after the last client and command have left; left out where
    /// it does not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) linger_secs: Option<u64>,
    /// The address for clients over HTTP, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) http: Option<HttpListening>,
    /// True if decisions take no proof that a person is there.
    pub(crate) without_proof: bool,
    /// The keys of the changed configuration that wait until an operator reloads it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<String>,
    pub(crate) clients: Vec<ClientRow>,
    pub(crate) servers: Vec<ServerRow>,
}

/// A client of an agent that shares the kernel.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ClientRow {
    pub(crate) agent_id: String,
    /// The name and version that the client gives of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) said: Option<String>,
    /// The process number of the `mgp serve` that the client has started, where the system tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    /// The program that has started that process, where the system tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
    pub(crate) connected_secs: u64,
}

/// Ends a kernel in the background that nobody uses but the one who asks. It would end by itself, only later. One that
/// stays takes its configuration as it is by now, which it follows anyway.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StepAside {
    /// The process number of the kernel that is meant.
    pub(crate) pid: Option<u32>,
}

/// The answer of a kernel that was asked to make way for another one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SteppedAside {
    /// True if the kernel ends.
    pub(crate) ends: bool,
}

impl Operation for ReadStatus {
    const NAME: &'static str = "kernel/status";
    const PROOF: ProofNeed = ProofNeed::None;
    type Reply = KernelStatus;

    async fn run(self, call: &OperatorCall) -> Result<KernelStatus, Error> {
        let Sections { lifecycle, policies, config, .. } = &*call.kernel;
        let served = served(lifecycle)?;
        let clients = lifecycle.connections.clients().into_iter().map(|client| {
            let (pid, program) = client.process.map(|(pid, program)| (pid, program.into_string())).unzip();
            ClientRow {
                agent_id: client.session.principal(&client.agent, None).access_id().into_owned(),
                said: client.session.said().map(str::to_owned),
                pid,
                program,
                connected_secs: client.since.elapsed().as_secs(),
            }
        });
        Ok(KernelStatus {
            running: true,
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            since: served.since,
            files: served.files.clone(),
            state: config.state().to_owned(),
            linger_secs: served.linger.map(|linger| linger.as_secs()),
            http: served.http.lock().clone(),
            without_proof: policies.proofs.is_without_proof(),
            waiting: config.waiting(),
            clients: clients.collect(),
            servers: ServerList::of(&call.kernel).servers,
        })
    }
}

impl Operation for StopKernel {
    const NAME: &'static str = "kernel/stop";
    const PROOF: ProofNeed = ProofNeed::Others;
    type Reply = KernelStatus;

    async fn run(self, call: &OperatorCall) -> Result<KernelStatus, Error> {
        let status = ReadStatus {}.run(call).await?;
        call.record_act("dev.cloto.mgp.kernel_stopped", &[]).await?;
        served(&call.kernel.lifecycle)?.stop.notify_one();
        Ok(status)
    }
}

impl Operation for StepAside {
    const NAME: &'static str = "kernel/yield";
    const PROOF: ProofNeed = ProofNeed::None;
    type Reply = SteppedAside;

    async fn run(self, call: &OperatorCall) -> Result<SteppedAside, Error> {
        let Sections { lifecycle, reload, .. } = &*call.kernel;
        let served = served(lifecycle)?;
        let connections = &lifecycle.connections;
        let mut is_used = served.http.lock().is_some() || !connections.clients().is_empty();
        if !is_used {
            // A command that has just ended leaves a moment later.
            is_used = timeout(LONGEST_LEAVE, connections.at_most(1)).await.is_err()
                || !connections.clients().is_empty();
        }
        let is_meant = self.pid == Some(std::process::id());
        let yields = is_meant && served.linger.is_some() && !is_used;
        if yields {
            served.stop.notify_one();
        } else if served.linger.is_some() && !lifecycle.is_stopping() {
            match reload.reread().await {
                Ok(applied) if applied.needs_restart.is_empty() => {}
                Ok(_) => lifecycle.connections.set_outdated(),
                Err(error) => tracing::error!(%error, "the configuration stays as it was"),
            }
        }
        Ok(SteppedAside { ends: yields || lifecycle.is_stopping() })
    }
}

fn served(lifecycle: &Lifecycle) -> Result<Arc<ServedKernel>, Error> {
    let served = lifecycle.served.get().cloned();
    served.ok_or_else(|| Error::invalid_request("this kernel is the command's own, and ends with it"))
}

/// The longest time that other commands have to leave a kernel that is to make way.
const LONGEST_LEAVE: Duration = Duration::from_secs(1);

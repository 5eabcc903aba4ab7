//! `mgp status`: shows whether a kernel runs, its clients and servers, and when it ends.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use mgp_types::mgp::ServerState;
use serde::Serialize;
use serde_json::json;

use super::context::{CommandContext, EffectiveConfig};
use super::link::KernelLink;
use super::proof::WITHOUT_PROOF;
use crate::admin::servers::ServerRow;
use crate::admin::status::{KernelStatus, ReadStatus};
use crate::lifecycle::HttpListening;
use crate::listen::kernel_note::KernelNote;
use crate::listen::socket;
use crate::state_folder::{states_of, users_state};
use crate::terminal::{Exit, Failure, printable};

/// The output about the kernel of this folder.
#[derive(Debug, Serialize)]
struct ShownStatus {
    #[serde(flatten)]
    status: KernelStatus,
    /// The socket for operators.
    socket: PathBuf,
    others: Vec<OtherKernel>,
}

/// Another running kernel of the same user.
#[derive(Debug, Serialize)]
struct OtherKernel {
    pid: u32,
    /// The folder with an `mgp.toml` of its own that it is the kernel of; `None` for the kernel of the user.
    folder: Option<PathBuf>,
}

/// Shows the running kernel. If none runs, the command ends with 4.
pub(super) async fn run(cx: &CommandContext) -> Result<Exit, Failure> {
    let EffectiveConfig { state, socket, .. } = cx.read()?;
    let others = others(&state).await;
    let Some(link) = KernelLink::to_running(cx).await? else {
        cx.output.show(&json!({ "running": false, "others": others }), |_, out| {
            writeln!(out, "no kernel runs; a client that starts `mgp serve` starts one, as do commands that need servers")?;
            others.iter().try_for_each(|other| other.write(out))
        })?;
        return Ok(Exit::Unreachable);
    };
    let status = link.ask(&ReadStatus {}).await;
    link.close().await;
    cx.output.show(
        &ShownStatus { status: status?, socket, others },
        |ShownStatus { status, socket, others }, out| {
            let KernelStatus { pid, version, since, state, .. } = status;
            writeln!(out, "mgp {} runs since {since}, process {pid}", printable(version))?;
            let files: Vec<_> = status.files.iter().map(|file| file.display().to_string()).collect();
            let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
            writeln!(out, "configuration: {}", printable(&files))?;
            writeln!(out, "state: {}", printable(&state.display().to_string()))?;
            writeln!(out, "socket: {}", printable(&socket.display().to_string()))?;
            writeln!(out, "ends: {}", end(status))?;
            if status.without_proof {
                writeln!(out, "{WITHOUT_PROOF}")?;
            }
            if !status.waiting.is_empty() {
                let keys = printable(&status.waiting.join(", "));
                writeln!(out, "changes that wait for an operator (`mgp reload` takes them): {keys}")?;
            }
            if let Some(http) = &status.http {
                writeln!(out, "http: {}", printable(&told_of(http)))?;
            }
            for client in &status.clients {
                let program = client.program.as_deref().unwrap_or("an unknown program");
                let said = client.said.as_ref().map(|said| format!(", which says it is {said},"));
                let (said, since) = (said.unwrap_or_default(), time(client.connected_secs));
                let (program, agent) = (printable(program), printable(&client.agent_id));
                writeln!(out, "client: {program}{} as {agent}, for {since}", printable(&said))?;
            }
            if status.clients.is_empty() {
                writeln!(out, "client: none")?;
            }
            for server in &status.servers {
                writeln!(out, "server: {}", described(server))?;
            }
            others.iter().try_for_each(|other| other.write(out))
        },
    )
}

/// Returns the address for clients over HTTP as text, with the reason why nobody can connect there.
pub(super) fn told_of(http: &HttpListening) -> String {
    let HttpListening { address, error } = http;
    match error {
        None => format!("listens at {address}"),
        Some(error) => {
            format!("does not listen at {address} yet: {error}; it is tried again until it is free")
        }
    }
}

/// Returns the running kernels of the same user but the one that keeps its state in `own`.
async fn others(own: &Path) -> Vec<OtherKernel> {
    let mut others = Vec::new();
    for state in states_of(users_state(own)).into_iter().filter(|state| state != own) {
        // A kernel that was killed has left its note, and nobody answers.
        if let Some(KernelNote { pid, folder, .. }) = KernelNote::read(&state)
            && socket::is_shared(&socket::default_path(&state), None).await
        {
            others.push(OtherKernel { pid, folder: (users_state(&state) != state).then_some(folder) });
        }
    }
    others
}

impl OtherKernel {
    fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        let whose = self
            .folder
            .as_ref()
            .map_or_else(|| "your own configuration".to_owned(), |folder| folder.display().to_string());
        writeln!(out, "another kernel: of {}, process {}", printable(&whose), self.pid)
    }
}

fn end(status: &KernelStatus) -> String {
    match status.linger_secs {
        None => "when it is stopped, or with the client that started it".to_owned(),
        Some(0) => "with the last client".to_owned(),
        Some(secs) if status.clients.is_empty() => format!("in {} unless a client connects", time(secs)),
        Some(secs) => format!("{} after the last client has left", time(secs)),
    }
}

fn described(server: &ServerRow) -> String {
    let state = server.state_word();
    let tools = if server.tools == 1 { "1 tool".to_owned() } else { format!("{} tools", server.tools) };
    let why = server.why();
    let why =
        why.filter(|_| server.state != ServerState::Connected).map(|why| format!(": {}", printable(why)));
    format!("{} {state}, {tools}{}", printable(server.id.as_str()), why.unwrap_or_default())
}

/// Returns a time as text in its largest unit, with the next smaller unit if that is not zero.
fn time(secs: u64) -> String {
    match (secs / 3600, secs / 60 % 60, secs % 60) {
        (0, 0, secs) => format!("{secs} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, secs) => format!("{minutes} min {secs} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_at_a_glance() {
        for (secs, shown) in
            [(0, "0 s"), (59, "59 s"), (300, "5 min"), (61, "1 min 1 s"), (3600, "1 h"), (5430, "1 h 30 min")]
        {
            assert_eq!(time(secs), shown);
        }
    }
}

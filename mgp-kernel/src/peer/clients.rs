//! The clients that are connected: processes in whose name an agent may act, which may start a client of its own.

use parking_lot::Mutex;

use super::{Lineage, Process, ProcessId, has_open};

/// The processes of the clients that have connected, for as long as they run.
#[derive(Debug, Default)]
pub(crate) struct ConnectedClients(Mutex<Vec<ClientProcess>>);

#[derive(Debug, Clone, Copy)]
struct ClientProcess {
    id: ProcessId,
    /// True if another client had started it.
    is_started: bool,
}

impl ConnectedClients {
    /// Notes the client that connects through the process of `lineage`. Returns whether a client that still runs has
    /// started it, so that an agent may sit in front of it. A process that connects again is what it was before.
    pub(crate) fn note(&self, lineage: &Lineage) -> bool {
        let (process, speaker) = (lineage.process().id, speaker(lineage).map(|speaker| speaker.process().id));
        let mut clients = self.0.lock();
        clients.retain(|client| client.id.is_there());
        let of = |id| clients.iter().find(|client| client.id == id).copied();
        let again = speaker.and_then(of).filter(|client| may_write(client.id.pid, process.pid));
        let is_below_one = || lineage.processes().iter().any(|process| of(process.id).is_some());
        let is_started = again.map_or_else(is_below_one, |client| client.is_started);
        for id in [Some(process), speaker].into_iter().flatten() {
            if !clients.iter().any(|client| client.id == id) {
                clients.push(ClientProcess { id, is_started });
            }
        }
        is_started
    }
}

/// Returns the process that speaks on the standard input of a process: the nearest ancestor that does not share it.
/// Shells and runners between a client and the process that it starts share it.
///
/// Returns `None` where a person or nobody may write there: a terminal, or nothing. An ancestor that adopts orphans
/// says nothing of who started the process, and gives `None` as well.
pub(crate) fn speaker(lineage: &Lineage) -> Option<Lineage> {
    let input = standard_input(lineage.process().id.pid);
    if input.as_deref().is_some_and(|input| input.starts_with("/dev/")) {
        return None;
    }
    let ancestors = lineage.processes().iter().enumerate().skip(1);
    let mut others =
        ancestors.filter(|(_, process)| input.is_none() || standard_input(process.id.pid) != input);
    let (steps, process) = others.next()?;
    if adopts(process) { None } else { lineage.ancestor(steps) }
}

/// Returns whether the process `writer` may write to the standard input of `reader`. It holds the other end of a pipe under
/// the same name; the ends of a socket have no name in common.
fn may_write(writer: u32, reader: u32) -> bool {
    let Some(input) = standard_input(reader) else { return false };
    input.starts_with("socket:") || input.starts_with("pipe:") && has_open(writer, &input)
}

fn standard_input(pid: u32) -> Option<String> {
    std::fs::read_link(format!("/proc/{pid}/fd/0")).ok().map(|target| target.to_string_lossy().into_owned())
}

/// Returns whether a process may be the parent of processes that it has not started. The system does not show which
/// ones may, so these are known by name, beside the first process.
fn adopts(process: &Process) -> bool {
    process.id.pid == 1 || ADOPTING.iter().any(|name| process.name.starts_with(name))
}

/// The names of programs that adopt orphans: the user's service manager, init programs of containers, and those of
/// Windows' subsystem for Linux.
const ADOPTING: [&str; 6] = ["systemd", "init", "tini", "dumb-init", "Relay", "SessionLeader"];

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_a_client_runs_is_started_by_it_and_what_it_speaks_to_again_is_not() {
        let own = Lineage::of(std::process::id()).unwrap();
        let mut spoken_to = Command::new("sleep").arg("60").stdin(Stdio::piped()).spawn().unwrap();
        let mut again = Command::new("sleep").arg("60").stdin(Stdio::piped()).spawn().unwrap();
        let mut run = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let [first, second, below] = [&spoken_to, &again, &run].map(|it| Lineage::of(it.id()).unwrap());
        let clients = ConnectedClients::default();
        assert!(!clients.note(&first), "no client is above it, and this program speaks to it");
        assert!(!clients.note(&second));
        assert!(clients.note(&below));
        let others = ConnectedClients::default();
        assert!(!others.note(&below) && !others.note(&own), "its parent is not below it");
        for child in [&mut spoken_to, &mut again, &mut run] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn who_speaks_is_the_nearest_ancestor_with_another_standard_input() {
        let own = Lineage::of(std::process::id()).unwrap();
        // The shell and what it starts share the pipe, as a runner between a client and a server does.
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 60; :"]).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let inner = loop {
            let children = format!("/proc/{0}/task/{0}/children", shell.id());
            let children = std::fs::read_to_string(children).unwrap();
            if let Some(inner) = children.split_ascii_whitespace().next() {
                break Lineage::of(inner.parse().unwrap()).unwrap();
            }
        };
        assert_eq!(speaker(&inner).unwrap().process(), own.process());
        shell.kill().unwrap();
        shell.wait().unwrap();
        let quiet = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn();
        let mut quiet = quiet.unwrap();
        assert_eq!(speaker(&Lineage::of(quiet.id()).unwrap()), None);
        quiet.kill().unwrap();
        quiet.wait().unwrap();
    }
}

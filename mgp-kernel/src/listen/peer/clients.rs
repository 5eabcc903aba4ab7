//! The clients that are connected: processes in whose name an agent may act, with a shell of its own.

use std::path::Path;

use parking_lot::Mutex;

use super::process::{Lineage, Process, ProcessId};

/// The processes of the clients that have spoken to the kernel, for as long as they run. A client that has disconnected
/// still counts: an agent could end the connection itself.
#[derive(Debug, Default)]
pub(crate) struct ConnectedClients(Mutex<Vec<ClientProcess>>);

#[derive(Debug)]
struct ClientProcess {
    lineage: Lineage,
    control_group: Option<Box<str>>,
    attendance: Attendance,
}

/// The presence of a person in front of a client, as far as the kernel can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attendance {
    /// A person, if the configuration says that there is one.
    Person,
    /// Perhaps the agent of another client, which may have started this one.
    Unknown,
}

impl ConnectedClients {
    /// Notes that this process is a client.
    pub(crate) fn note(&self, lineage: Lineage, attendance: Attendance) {
        let id = lineage.process().id;
        let control_group = control_group(id.pid);
        let mut clients = self.0.lock();
        clients.retain(|client| client.id() != id && client.id().is_there());
        clients.push(ClientProcess { lineage, control_group, attendance });
    }

    /// Returns who sits in front of a client that begins to speak. If another client is above it, its agent may sit
    /// there instead, unless the very process that speaks was attended before: that one connects again.
    pub(crate) fn attendance(&self, lineage: &Lineage) -> Attendance {
        if self.above(lineage).is_none() || self.connects_again(lineage) {
            Attendance::Person
        } else {
            Attendance::Unknown
        }
    }

    fn connects_again(&self, lineage: &Lineage) -> bool {
        let Some(speaker) = speaker(lineage) else { return false };
        let id = speaker.process().id;
        let is_it = |client: &ClientProcess| client.id() == id && client.attendance == Attendance::Person;
        self.0.lock().iter().any(is_it) && may_write(id.pid, lineage.process().id.pid)
    }

    /// Returns whether a client that has spoken to the kernel still runs, connected or not.
    pub(crate) fn are_there(&self) -> bool {
        self.0.lock().iter().any(|client| client.id().is_there())
    }

    /// Returns the client from which a process descends, if there is one.
    pub(crate) fn above(&self, lineage: &Lineage) -> Option<Process> {
        let clients = self.0.lock();
        let mut above = clients.iter().filter(|client| client.id().is_there());
        above.find(|client| client.is_above(lineage)).map(|client| client.lineage.process().clone())
    }

    /// Returns whether a client is among these processes.
    pub(crate) fn are_among(&self, processes: &[Process]) -> bool {
        let clients = self.0.lock();
        clients.iter().any(|client| processes.iter().any(|process| process.id == client.id()))
    }
}

impl ClientProcess {
    fn id(&self) -> ProcessId {
        self.lineage.process().id
    }

    /// Returns whether the client, or a process that it may have left behind, is the process or an ancestor of it.
    fn is_above(&self, lineage: &Lineage) -> bool {
        lineage.comes_from(self.id()) || self.may_have_left(lineage)
    }

    /// Returns whether the process of `lineage` may be one that the client started and whose parent has ended since.
    /// Such a process is the child of an ancestor of the client that adopts orphans, runs as this user, is younger than
    /// the client, and in its control group. What a person starts from the desktop or logs in to is in a group of its
    /// own.
    fn may_have_left(&self, lineage: &Lineage) -> bool {
        let line = lineage.processes();
        let Some(common) = line.iter().position(|process| self.lineage.comes_from(process.id)) else {
            return false;
        };
        let Some(child) = common.checked_sub(1).and_then(|below| line.get(below)) else { return false };
        let in_another =
            |group: &str| control_group(child.id.pid).is_some_and(|of_child| *of_child != *group);
        adopts(&line[common])
            && child.id.started >= self.id().started
            && user(child.id.pid) == user(std::process::id())
            && !self.control_group.as_deref().is_some_and(in_another)
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
    let holds = || {
        let open = std::fs::read_dir(format!("/proc/{writer}/fd")).into_iter().flatten().flatten();
        open.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|held| held == Path::new(&input))
    };
    input.starts_with("socket:") || input.starts_with("pipe:") && holds()
}

fn standard_input(pid: u32) -> Option<String> {
    let target = std::fs::read_link(format!("/proc/{pid}/fd/0")).ok()?;
    Some(target.to_string_lossy().into_owned())
}

/// Returns the control groups of a process, as the system writes them.
fn control_group(pid: u32) -> Option<Box<str>> {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok().map(Into::into)
}

#[cfg(unix)]
fn user(pid: u32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;

    std::fs::metadata(format!("/proc/{pid}")).ok().map(|process| process.uid())
}

#[cfg(not(unix))]
fn user(_pid: u32) -> Option<u32> {
    None
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
    fn what_a_client_starts_descends_from_it_and_its_parent_does_not() {
        let own = Lineage::of(std::process::id()).unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let below = Lineage::of(child.id()).unwrap();
        let clients = ConnectedClients::default();
        assert_eq!(clients.above(&below), None);
        clients.note(own.clone(), Attendance::Person);
        assert_eq!(clients.above(&below).unwrap().id, own.process().id);
        assert_eq!(clients.above(&own.ancestor(1).unwrap()), None);
        assert!(clients.are_among(own.processes()) && !clients.are_among(&below.processes()[..1]));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_person_sits_in_front_of_what_an_attended_client_speaks_to_again_and_not_of_what_it_runs() {
        let own = Lineage::of(std::process::id()).unwrap();
        let mut spoken_to = Command::new("sleep").arg("60").stdin(Stdio::piped()).spawn().unwrap();
        let mut run = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let [again, below] = [&spoken_to, &run].map(|child| Lineage::of(child.id()).unwrap());
        let clients = ConnectedClients::default();
        assert_eq!(clients.attendance(&below), Attendance::Person, "no client is above it");
        clients.note(own.clone(), Attendance::Person);
        assert_eq!(clients.attendance(&again), Attendance::Person);
        assert_eq!(clients.attendance(&below), Attendance::Unknown);
        clients.note(own, Attendance::Unknown);
        assert_eq!(clients.attendance(&again), Attendance::Unknown);
        for child in [&mut spoken_to, &mut run] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_client_that_has_ended_is_none() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let below = Lineage::of(child.id()).unwrap();
        let clients = ConnectedClients::default();
        clients.note(below.clone(), Attendance::Person);
        assert!(clients.above(&below).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(clients.above(&below), None);
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

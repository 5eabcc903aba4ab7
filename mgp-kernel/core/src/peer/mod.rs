//! The processes at the other end of the kernel's sockets, and all others, as the system shows them: their identity, their
//! ancestors and their terminals, and the connected clients among them.
//!
//! Only Linux shows this (`/proc`). Elsewhere nothing is known of any process, and the code that decides by it has to
//! say what follows from that.

mod adopted;
mod tcp_peer;

use std::fmt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

pub use self::adopted::{adopt_orphans, children, reap_adopted};
pub(crate) use self::tcp_peer::{PeerUser, peer_user};

/// The identity of a process. The time at which it started tells it from a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProcessId {
    pub(crate) pid: u32,
    /// The time at which the process started, in ticks since the system started.
    pub(crate) started: u64,
}

/// The data that the system gives of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: ProcessId,
    /// The name of the program, cut by the system.
    pub(crate) name: Box<str>,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    /// The session, by the number of the process that leads it.
    pub(crate) session: u32,
    /// The device number of the controlling terminal; 0 for none.
    pub(crate) terminal: i64,
}

/// A process and its ancestors: the process itself first, the first process of the system last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lineage(Vec<Process>);

impl Process {
    /// Returns the data of the process `pid` as of now; `None` if there is no such process, or it may not be seen.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        // Names are bytes, and may hold anything.
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        parse(pid, &String::from_utf8_lossy(&stat))
    }

    /// Returns this process.
    pub(crate) fn own() -> Option<Self> {
        Self::read(std::process::id())
    }
}

impl ProcessId {
    /// Returns whether this very process still runs.
    pub(crate) fn is_there(self) -> bool {
        Process::read(self.pid).is_some_and(|process| process.id == self)
    }
}

/// Parses a line of `/proc/PID/stat`. The name stands in parentheses and may itself contain some.
fn parse(pid: u32, stat: &str) -> Option<Process> {
    let (front, rest) = stat.rsplit_once(')')?;
    let name = front.split_once('(')?.1.into();
    // The state is the third field of the line, and the first after the name.
    let fields: Vec<_> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    Some(Process {
        id: ProcessId { pid, started: field(22)?.parse().ok()? },
        name,
        parent: field(4)?.parse().ok()?,
        group: field(5)?.parse().ok()?,
        session: field(6)?.parse().ok()?,
        terminal: field(7)?.parse().ok()?,
    })
}

/// Returns whether the process `pid` has open what the system shows under this name.
fn has_open(pid: impl fmt::Display, name: &str) -> bool {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|held| held == Path::new(name))
}

impl Lineage {
    /// Returns the process `pid` and its ancestors; `None` if the system does not show all of them.
    ///
    /// While the list is read, processes end, and their numbers may be given to others. So it is read until two reads
    /// in a row are the same: a number that was given to another process in between has another parent the second time.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let mut last = Self::read(pid)?;
        for _ in 0..MAX_READS {
            let again = Self::read(pid)?;
            if again == last {
                return Some(again);
            }
            last = again;
        }
        None
    }

    fn read(pid: u32) -> Option<Self> {
        let mut line = vec![Process::read(pid)?];
        while let Some(youngest) = line.last().filter(|process| process.parent != 0) {
            let parent = Process::read(youngest.parent)?;
            // No process is older than its parent, and none is its own ancestor.
            if parent.id.started > youngest.id.started || line.len() >= MAX_ANCESTORS {
                return None;
            }
            line.push(parent);
        }
        Some(Self(line))
    }

    /// Returns the process and its ancestors, itself first.
    pub(crate) fn processes(&self) -> &[Process] {
        &self.0
    }

    /// Returns the lineage of the ancestor so many steps up; 0 is the process itself.
    pub(crate) fn ancestor(&self, steps: usize) -> Option<Self> {
        self.0.get(steps..).filter(|line| !line.is_empty()).map(|line| Self(line.to_vec()))
    }

    /// Returns the process whose lineage this is.
    pub(crate) fn process(&self) -> &Process {
        // A lineage has at least one process.
        &self.0[0]
    }

    /// Returns the working folder of the process, if it still runs and the system shows it.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        let id = self.process().id;
        let folder = std::fs::read_link(format!("/proc/{}/cwd", id.pid)).ok();
        // The process was there all the time if it still is, so nobody else had its number.
        folder.filter(|_| id.is_there())
    }

    /// Returns whether `ancestor` is the process itself, or one of its ancestors.
    pub(crate) fn comes_from(&self, ancestor: ProcessId) -> bool {
        self.0.iter().any(|process| process.id == ancestor)
    }
}

/// Returns the lineage of the process `pid`, which has just connected; `None` if it has ended, or if the system does not tell
/// from whom it descends.
///
/// A number alone deceives: a process may end while it is looked at, and its number may be given to another one. A
/// descriptor holds the process, and names no number once that has ended. A process that ended before it could be held,
/// and whose number had been given away by then, would be taken for another; so the peer is looked at before anything
/// else, and a system gives a number anew only after it has used up all others.
#[cfg(target_os = "linux")]
pub(crate) fn lineage_of(pid: i32) -> Option<Lineage> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    let held = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let pid = u32::try_from(pid).ok()?;
    let lineage = Lineage::of(pid)?;
    // The process had this number all the time if it still has it.
    (number(&held)? == pid).then_some(lineage)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn lineage_of(_pid: i32) -> Option<Lineage> {
    None
}

/// Returns the number of the process that a descriptor is of, while the process has one.
#[cfg(target_os = "linux")]
fn number(process: &std::os::fd::OwnedFd) -> Option<u32> {
    use std::os::fd::AsRawFd as _;

    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", process.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()
}

#[cfg(test)]
mgp_types::convert!(Vec<Process> => Lineage, line => Self(line));

/// The largest number of reads of a list of ancestors; it changes less often than this for honest reasons.
const MAX_READS: usize = 8;
const MAX_ANCESTORS: usize = 1024;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_moves_no_field() {
        let stat = "7 (a) R 1 (b) S 3 4 5 34816 9 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0";
        let process = parse(7, stat).unwrap();
        assert_eq!((&*process.name, process.parent, process.group, process.session), ("a) R 1 (b", 3, 4, 5));
        assert_eq!((process.terminal, process.id.started), (34816, 4711));
        for torn in ["", "7 (a", "7 (a) S 3 4", "7 a S 3 4 5 6"] {
            assert_eq!(parse(7, torn), None, "{torn}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_comes_from_its_parent_and_not_from_its_child() {
        let lineage = Lineage::of(std::process::id()).unwrap();
        let parent = Process::read(lineage.process().parent).unwrap();
        assert!(lineage.comes_from(parent.id) && lineage.comes_from(Process::own().unwrap().id));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let below = Lineage::of(child.id()).unwrap();
        assert!(below.comes_from(parent.id) && !lineage.comes_from(below.process().id));
        assert!(below.process().id.is_there());
        assert_eq!(below.ancestor(1).unwrap().process(), lineage.process());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!below.process().id.is_there());
        assert_eq!(Lineage::of(child.id()), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_connected_is_known_with_its_ancestors() {
        let own = Process::own().unwrap();
        let pid = i32::try_from(own.id.pid).unwrap();
        let peer = lineage_of(pid).unwrap();
        assert!(peer.comes_from(own.id), "{peer:?}");
        assert_eq!(peer.folder(), std::env::current_dir().ok());
    }
}

#[cfg(all(test, target_os = "linux"))]
mod client_tests {
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

//! A connection of an operator: who is at the other end, and at which terminal.

use std::sync::atomic::AtomicBool;

use super::login::is_at_login;
use crate::peer::{Lineage, ProcessId};

/// A connection of an operator, and whether it may decide.
#[derive(Debug)]
pub struct OperatorConnection {
    /// True for a process of the account that the kernel runs as.
    pub(crate) is_own: bool,
    /// The process at the other end and its ancestors, if the system shows them.
    process: Option<Lineage>,
    pub(super) is_proved: AtomicBool,
    /// True once a request was one of a client of the user.
    pub(super) is_client: AtomicBool,
}

impl OperatorConnection {
    /// Returns a connection that `process`, of the account that the kernel runs as, made at the operators' socket.
    pub(crate) fn of_account(process: Option<Lineage>) -> Self {
        Self { process, ..Self::new(true, false) }
    }

    /// Returns a connection of this process to a kernel within it.
    pub fn of_this_process() -> Self {
        Self::of_account(Lineage::of(std::process::id()))
    }

    /// Returns a connection of another member of the operators' group.
    pub(crate) const fn of_member() -> Self {
        Self::new(false, false)
    }

    /// Returns a connection of a person whom an identity provider knows as an operator.
    pub(crate) const fn of_person() -> Self {
        Self::new(false, true)
    }

    /// Returns a connection of root to a kernel of another account: the system has asked for a password.
    pub(crate) const fn of_superuser() -> Self {
        Self::new(true, true)
    }

    const fn new(is_own: bool, proved: bool) -> Self {
        Self { is_own, process: None, is_proved: AtomicBool::new(proved), is_client: AtomicBool::new(false) }
    }

    pub(super) fn terminal(&self) -> Option<Terminal> {
        Terminal::of(self.process.as_ref()?)
    }

    pub(super) fn is_at_login(&self) -> bool {
        self.process.as_ref().is_some_and(is_at_login)
    }
}

/// A session at a terminal. The start of its leader tells it from later ones of the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terminal {
    leader: ProcessId,
    device: i64,
}

impl Terminal {
    /// Returns the terminal at which a process was started by the leader of the session, the shell of the person. What
    /// other programs start there does not count: an agent types there as well as a person.
    fn of(lineage: &Lineage) -> Option<Self> {
        let [process, leader, ..] = lineage.processes() else { return None };
        let is_typed =
            process.terminal != 0 && leader.id.pid == process.session && leader.terminal == process.terminal;
        is_typed.then_some(Self { leader: leader.id, device: process.terminal })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_shell_of_a_terminal_starts_is_at_the_terminal() {
        use crate::peer::Process;

        let process = |pid, parent, session, terminal| Process {
            id: ProcessId { pid, started: u64::from(pid) },
            name: "p".into(),
            parent,
            group: session,
            session,
            terminal,
        };
        let (shell, agent) = (process(10, 1, 10, 7), process(11, 10, 10, 7));
        let at = |line: Vec<Process>| Terminal::of(&Lineage::from(line));
        assert!(at(vec![process(12, 10, 10, 7), shell.clone()]).is_some());
        assert_eq!(at(vec![process(12, 11, 10, 7), agent, shell.clone()]), None);
        assert_eq!(at(vec![process(12, 10, 12, 7), shell.clone()]), None, "a session of its own");
        assert_eq!(at(vec![process(12, 10, 10, 0), shell]), None, "no terminal");
    }
}

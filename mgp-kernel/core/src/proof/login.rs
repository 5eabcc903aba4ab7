//! The check that a command was typed at a login: on the console, over ssh, by `su` or `sudo`, or from outside the
//! container.
//!
//! An agent's commands always have the agent's client among their ancestors or, once that client has exited, the process
//! that adopts orphans. Neither is a shell nor a program by which people log in, and an agent cannot become either.

use std::fs;
use std::path::Path;

use crate::peer::{Lineage, Process};

/// An ancestor of a command, as far as it matters here. The command itself counts as well.
#[derive(Debug, Clone)]
struct Ancestor {
    pid: u32,
    /// The real user: a program that the system runs as root for everybody keeps the user who started it.
    user: u32,
    name: Box<str>,
    is_shell: bool,
}

/// Returns whether only shells stand between a process and the login of its user. False where the system does not show the
/// ancestors.
pub(super) fn is_at_login(lineage: &Lineage) -> bool {
    let chain: Option<Vec<_>> = lineage.processes().iter().map(Ancestor::of).collect();
    chain.is_some_and(|chain| is_login(&chain))
}

/// Decides by the command and its ancestors, the command first.
fn is_login(chain: &[Ancestor]) -> bool {
    let Some(account) = chain.first().map(|command| command.user) else { return false };
    for (place, ancestor) in chain.iter().enumerate().skip(1) {
        let (name, is_own) = (&*ancestor.name, ancestor.user == account);
        // The first process adopts what outlives its parent.
        if ancestor.pid == FIRST {
            return false;
        }
        if is_own && ancestor.is_shell {
            continue;
        }
        if account != ROOT {
            // sshd gives the user's part of a connection to the user.
            if is_own && SSH.contains(&name) {
                continue;
            }
            return ancestor.user == ROOT && (SSH.contains(&name) || LOGINS.contains(&name));
        }
        // Whoever is root needs no password for these.
        if is_own && BECOMING.contains(&name) {
            continue;
        }
        let is_console = || name == "login" && chain.get(place + 1).is_some_and(|above| above.pid == FIRST);
        // What comes from another user became root by a password.
        return !is_own || SSH.contains(&name) || is_console();
    }
    // The last ancestor has a parent outside of the container.
    true
}

impl Ancestor {
    fn of(process: &Process) -> Option<Self> {
        let pid = process.id.pid;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        let user = users.split_ascii_whitespace().next()?.parse().ok()?;
        let is_shell = fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| is_shell(&program));
        // The process was there all the time if it still is, so nobody else had its number.
        process.id.is_there().then(|| Self { pid, user, name: process.name.clone(), is_shell })
    }
}

/// Returns whether a program is one of the system's shells.
fn is_shell(program: &Path) -> bool {
    let shells = fs::read_to_string("/etc/shells").unwrap_or_default();
    let mut paths = shells.lines().filter(|line| line.starts_with('/'));
    paths.any(|shell| fs::canonicalize(shell).is_ok_and(|shell| shell == program))
}

const ROOT: u32 = 0;
/// The number of the first process.
const FIRST: u32 = 1;
/// The names of the parts of OpenSSH's server.
const SSH: [&str; 2] = ["sshd", "sshd-session"];
/// The names of the programs of root by which a person becomes another user.
const LOGINS: [&str; 4] = ["login", "su", "sudo", "runuser"];
const BECOMING: [&str; 3] = ["su", "sudo", "runuser"];

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: u32 = 1000;
    const BOB: u32 = 1001;

    fn process(pid: u32, user: u32, name: &str) -> Ancestor {
        let is_shell = ["bash", "sh"].contains(&name);
        Ancestor { pid, user, name: name.into(), is_shell }
    }

    fn chain(processes: &[(u32, &str)], last: u32) -> Vec<Ancestor> {
        let count = u32::try_from(processes.len()).unwrap();
        let pid = |place| last + count - 1 - place;
        let of = |(place, (user, name)): (u32, &(u32, &str))| process(pid(place), *user, name);
        (0..).zip(processes).map(of).collect()
    }

    fn of_host(processes: &[(u32, &str)]) -> bool {
        let processes = [processes, &[(ROOT, "systemd")]].concat();
        is_login(&chain(&processes, FIRST))
    }

    fn entered(processes: &[(u32, &str)]) -> bool {
        is_login(&chain(processes, 70))
    }

    #[test]
    fn a_person_logs_in_on_the_console_over_ssh_by_su_and_from_outside_the_container() {
        for above in [
            &[(ADA, "bash"), (ROOT, "login")][..],
            &[(ADA, "bash"), (ADA, "sshd"), (ROOT, "sshd"), (ROOT, "sshd")],
            &[(ADA, "sh"), (ADA, "bash"), (ADA, "sshd-session"), (ROOT, "sshd-session"), (ROOT, "sshd")],
            &[(ADA, "sshd"), (ROOT, "sshd"), (ROOT, "sshd")],
            &[(ADA, "bash"), (ROOT, "su"), (ROOT, "bash"), (ROOT, "login")],
            &[(ROOT, "sudo"), (ROOT, "sudo"), (BOB, "bash"), (BOB, "kitty")],
        ] {
            assert!(of_host(&[&[(ADA, "mgp")], above].concat()), "{above:?}");
        }
        for above in [
            &[(ROOT, "bash"), (ROOT, "login")][..],
            &[(ROOT, "bash"), (ROOT, "sshd"), (ROOT, "sshd")],
            &[(ROOT, "sudo"), (ROOT, "sudo"), (ADA, "bash"), (ADA, "kitty")],
            &[(ROOT, "bash"), (ADA, "su"), (ADA, "bash"), (ADA, "kitty")],
        ] {
            assert!(of_host(&[&[(ROOT, "mgp")], above].concat()), "{above:?}");
        }
        for account in [ADA, ROOT] {
            for processes in
                [&[(account, "mgp")][..], &[(account, "mgp"), (account, "sh"), (account, "bash")]]
            {
                assert!(entered(processes), "{processes:?}");
            }
        }
    }

    #[test]
    fn what_a_client_starts_or_leaves_behind_is_at_no_login() {
        for account in [ADA, ROOT] {
            for above in [
                // The client runs in a shell of a login, or by itself.
                &[(account, "bash"), (account, "claude"), (account, "bash"), (ROOT, "sshd")][..],
                &[(account, "bash"), (account, "node"), (account, "bash"), (ROOT, "login")],
                &[(account, "claude"), (account, "sshd"), (ROOT, "sshd")],
                // It has ended.
                &[(account, "sh")],
                &[],
                // Terminals that anybody opens.
                &[(account, "bash"), (account, "script"), (account, "bash"), (ROOT, "login")],
                &[(account, "bash"), (account, "tmux: server")],
                &[(account, "bash"), (account, "gnome-terminal-"), (account, "systemd")],
                // What the system runs on behalf of the user.
                &[(account, "sh"), (ROOT, "cron"), (ROOT, "cron")],
                &[(account, "bash"), (ROOT, "sg"), (ROOT, "login")],
            ] {
                assert!(!of_host(&[&[(account, "mgp")], above].concat()), "{above:?}");
            }
            assert!(!entered(&[(account, "mgp"), (account, "node"), (account, "bash")]));
            // The container's own shell adopts orphans.
            assert!(!is_login(&chain(&[(account, "mgp"), (account, "bash")], FIRST)));
        }
        // Names that the user gives, and what root does without a password.
        for above in [&[(ADA, "sh"), (ADA, "sshd"), (ADA, "sshd")][..], &[(ADA, "sh"), (ADA, "login")]] {
            assert!(!of_host(&[&[(ADA, "mgp")], above].concat()), "{above:?}");
        }
        for above in [
            &[(ROOT, "su"), (ROOT, "claude"), (ROOT, "bash"), (ROOT, "sshd")][..],
            &[(ROOT, "su")],
            &[(ROOT, "bash"), (ROOT, "login"), (ROOT, "script")],
        ] {
            assert!(!of_host(&[&[(ROOT, "mgp")], above].concat()), "{above:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_test_is_at_no_login_and_only_shells_of_the_system_count() {
        let own = Lineage::of(std::process::id()).unwrap();
        assert!(!is_at_login(&own));
        let shell = fs::canonicalize("/bin/sh").unwrap();
        assert!(is_shell(&shell) && !is_shell(Path::new("/usr/bin/env")));
    }
}

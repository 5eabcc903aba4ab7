//! Confinement: the limits on what a program that the kernel starts can reach, held by the operating system.
//!
//! The kernel writes into a `Confinement` what a server may reach: the system's programs and libraries, its own
//! folder, a temporary folder, and what it was permitted. It does not start the program itself but the launcher, `mgp
//! confine`, which confines its own process and then becomes the program. So there is no moment in which the program
//! runs unconfined, and its children are confined like it.
//!
//! * On Linux Landlock (`linux.rs`) bounds files, TCP ports, and where the system can also abstract sockets and
//!   signals; a seccomp filter takes away what Landlock does not see. Landlock opens a folder with all that is below it, so
//!   the settings in an open folder are kept by a mount namespace (`view.rs`), where the system lets one be made.
//! * On macOS a profile (`seatbelt.rs`) is given to `sandbox-exec`.
//! * Elsewhere nothing can be confined, and a server that has to be is not started.

mod confined_program;
mod launcher;
#[cfg(target_os = "linux")]
mod linux;
mod program;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
mod spec;
#[cfg(target_os = "linux")]
mod view;

use std::fmt;

pub(crate) use self::confined_program::{Confined, opened};
#[cfg(target_os = "linux")]
pub use self::launcher::try_view;
pub use self::launcher::{ConfinedLaunch, KEEP, become_program, has_views, keeper, kept_by, launch};
pub use self::launcher::{check_confinement, set_confinement_launcher};
pub(crate) use self::program::ProgramSearch;
pub(crate) use self::spec::Confinement;
use self::spec::Ports;

/// The parts of a confinement that this system can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Confinement by Landlock and seccomp.
    Landlock {
        /// True if TCP can be bounded by port.
        ports: bool,
        /// True if signals and abstract sockets can be bounded.
        signals: bool,
    },
    /// Confinement by profiles of `sandbox-exec`.
    Seatbelt,
    /// No confinement, with the reason.
    Nothing(&'static str),
}

/// Returns the support of this system.
pub fn support() -> Support {
    #[cfg(target_os = "linux")]
    {
        let [files, ports, signals] = linux::bounds();
        if !files {
            return Support::Nothing(
                "it takes Linux 6.2 or newer with Landlock switched on (`lsm=landlock,…` at boot)",
            );
        }
        Support::Landlock { ports, signals }
    }
    #[cfg(target_os = "macos")]
    {
        if std::path::Path::new(seatbelt::PROGRAM).is_file() {
            Support::Seatbelt
        } else {
            Support::Nothing("there is no /usr/bin/sandbox-exec")
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    Support::Nothing("programs are confined on Linux and macOS only")
}

impl Support {
    /// Checks that this system can confine a program to `to`.
    ///
    /// # Errors
    /// Fails if it cannot, with the reason in words.
    pub(crate) fn holds(self, to: &Confinement) -> Result<(), String> {
        self.confines()?;
        let by_port = [&to.connect, &to.listen].iter().any(|ports| matches!(ports, Ports::Only(_)))
            || (to.has_network() && (to.connect == Ports::Closed || to.listen == Ports::Closed));
        match self {
            Self::Landlock { ports: false, .. } if by_port => {
                Err("this system cannot bound the network by port: it takes Linux 6.7 or newer".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Checks that this system can confine a program that may connect to some ports only.
    ///
    /// # Errors
    /// Fails if it cannot, with the reason in words.
    pub(crate) fn confines_by_port(self) -> Result<(), String> {
        self.holds(&Confinement { connect: Ports::Only(Vec::new()), ..Confinement::default() })
    }

    /// Checks that this system can confine programs at all.
    ///
    /// # Errors
    /// Fails if it cannot, with the reason in words.
    pub fn confines(self) -> Result<(), String> {
        match self {
            Self::Nothing(why) => Err(format!("this system cannot confine programs: {why}")),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Landlock { ports, signals } => {
                let tcp = if *ports { "by port" } else { "as a whole (by port from Linux 6.7 on)" };
                let signals = if *signals { "signals" } else { "signals not (from Linux 6.12 on)" };
                write!(f, "files and system calls, by Landlock and seccomp; TCP {tcp}; {signals}")
            }
            Self::Seatbelt => f.write_str("files, network and system services, by sandbox-exec"),
            Self::Nothing(why) => write!(f, "nothing: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_cannot_hold_it_says_so() {
        let nothing = Support::Nothing("it is too old");
        assert_eq!(nothing.confines().unwrap_err(), "this system cannot confine programs: it is too old");
        let old = Support::Landlock { ports: false, signals: false };
        assert!(old.holds(&Confinement::default()).is_ok());
        let to = Confinement { connect: Ports::Only(vec![443]), ..Confinement::default() };
        assert!(old.holds(&to).unwrap_err().contains("Linux 6.7"));
        assert!(Support::Landlock { ports: true, signals: false }.holds(&to).is_ok());
    }
}

//! Confinement by Landlock, of the calling thread and of all that it starts.

use std::io;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, PathBeneath,
    PathFd, RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::seccomp;
use super::spec::{Confinement, PathAccess, Ports};

/// Returns whether Landlock bounds files, TCP by port (Linux 6.7), and signals and abstract sockets (Linux 6.12).
///
/// The first is the minimum that a confinement needs: all rights on files, including their truncation (Linux 6.2).
pub(super) fn bounds() -> [bool; 3] {
    let ruleset = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let files = ruleset().handle_access(AccessFs::from_all(FILES));
    let ports = ruleset().handle_access(AccessNet::from_all(PORTS));
    [files, ports, ruleset().scope(Scope::from_all(SIGNALS))].map(|bounded| bounded.is_ok())
}

/// Confines this thread for good.
///
/// # Errors
/// Fails if the system cannot hold the confinement; then the program must not be started.
pub(super) fn confine(to: &Confinement) -> io::Result<()> {
    limit_resources()?;
    let status = landlock(to).map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(io::Error::other("the system has no Landlock"));
    }
    seccomp::filter(to)
}

fn landlock(to: &Confinement) -> Result<RestrictionStatus, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FILES))?;
    for (ports, access) in [(&to.connect, AccessNet::ConnectTcp), (&to.listen, AccessNet::BindTcp)] {
        ruleset = match ports {
            // Without a socket of the internet there is no port, whatever the system's Landlock supports.
            Ports::Closed if !to.has_network() => {
                ruleset.set_compatibility(CompatLevel::BestEffort).handle_access(access)?
            }
            Ports::Closed | Ports::Only(_) => {
                ruleset.set_compatibility(CompatLevel::HardRequirement).handle_access(access)?
            }
            Ports::All => ruleset,
        };
    }
    // Further rights of newer systems are bounded where they can be.
    let mut ruleset = ruleset
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)?
        .scope(Scope::from_all(SIGNALS))?
        .create()?;
    for opened in &to.paths {
        // A path that does not exist cannot be reached.
        let Ok(file) = PathFd::new(&opened.path) else { continue };
        let mut access = rights(opened.access);
        if !opened.path.is_dir() {
            access &= AccessFs::from_file(FILES);
        }
        ruleset = ruleset.add_rule(PathBeneath::new(file, access))?;
    }
    for (ports, access) in [(&to.connect, AccessNet::ConnectTcp), (&to.listen, AccessNet::BindTcp)] {
        if let Ports::Only(ports) = ports {
            for port in ports {
                ruleset = ruleset.add_rule(NetPort::new(*port, access))?;
            }
        }
    }
    ruleset.restrict_self()
}

fn rights(access: PathAccess) -> BitFlags<AccessFs> {
    match access {
        PathAccess::List => AccessFs::ReadDir.into(),
        PathAccess::Read => AccessFs::from_read(FILES),
        // A program does not have to make devices and sockets.
        PathAccess::Write => {
            AccessFs::from_all(FILES) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock)
        }
        PathAccess::Device => AccessFs::ReadFile | AccessFs::WriteFile,
    }
}

/// Limits the resources of this process: a memory image could be read by others, and one program must not fill the disk
/// or use up the table of files.
fn limit_resources() -> io::Result<()> {
    for (resource, most) in
        [(Resource::Core, 0), (Resource::Fsize, MAX_FILE_BYTES), (Resource::Nofile, MAX_OPEN_FILES)]
    {
        let most = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

const FILES: ABI = ABI::V3;
const PORTS: ABI = ABI::V4;
const SIGNALS: ABI = ABI::V6;

const MAX_FILE_BYTES: u64 = 4 << 30;
const MAX_OPEN_FILES: u64 = 4096;

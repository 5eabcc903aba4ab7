//! Confinement by Landlock and a filter of system calls, of the calling thread and of all that it starts.

use std::collections::BTreeMap;
use std::io;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, PathBeneath,
    PathFd, RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::spec::{Confinement, PathAccess, Ports};
use super::view;

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
    if to.has_view {
        view::enter(to)?;
    }
    limit_resources()?;
    let status = landlock(to).map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(io::Error::other("the system has no Landlock"));
    }
    filter(to)
}

fn landlock(to: &Confinement) -> Result<RestrictionStatus, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FILES))?;
    for (ports, access) in [(&to.connect, AccessNet::ConnectTcp), (&to.listen, AccessNet::BindTcp)] {
        let level = match ports {
            Ports::All => continue,
            // Without a socket of the internet there is no port, whatever the system's Landlock supports.
            Ports::Closed if !to.has_network() => CompatLevel::BestEffort,
            Ports::Closed | Ports::Only(_) => CompatLevel::HardRequirement,
        };
        ruleset = ruleset.set_compatibility(level).handle_access(access)?;
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

/// Lists the constants of the C library that have these names.
macro_rules! constants {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// Filters the system calls of this thread for good: those that a confined program has no use for, and those that would lead
/// around Landlock.
///
/// All other calls that were known when the lists were written stay: what they can reach is bounded by Landlock, or is the
/// program itself. Calls that came later look as if the system did not know them, so libraries take another way. A list of
/// allowed calls would break programs with each version of their libraries. `clone3` looks as if it did not exist, because a
/// filter cannot see its flags.
///
/// # Errors
/// Fails if the system or this processor has no filters.
fn filter(to: &Confinement) -> io::Result<()> {
    // These look as if the system did not know them: their arguments lie in memory, where a filter cannot look, and
    // libraries have another way for each.
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    for (calls, errno) in [(refused(to)?, libc::EPERM), (unknown, libc::ENOSYS)] {
        apply_filter(&compiled(calls, errno)?).map_err(io::Error::other)?;
    }
    Ok(())
}

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

fn compiled(calls: SyscallRules, errno: i32) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, refuse, arch).map_err(io::Error::other)?;
    let program = BpfProgram::try_from(filter).map_err(io::Error::other)?;
    Ok(without_newer(program))
}

/// Refuses the system calls that are newer than the lists here, and on x86-64 with them those of the x32 ABI, which have
/// larger numbers.
fn without_newer(program: BpfProgram) -> BpfProgram {
    const NUMBER: u32 = 0;
    let instruction = |code: u32, jt, jf, k| sock_filter {
        // The values are words of 16 bits in BPF; all of them fit.
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    };
    let mut whole = vec![
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, NUMBER),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, FIRST_UNKNOWN),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
    ];
    whole.extend(program);
    whole
}

fn refused(to: &Confinement) -> io::Result<SyscallRules> {
    let mut calls: SyscallRules = ALWAYS.iter().chain(OF_X86[0]).map(|call| (*call, Vec::new())).collect();
    if !to.change_modes {
        let further = [&FCHMODAT2].into_iter().chain(OF_X86[1]);
        calls.extend(CHANGES_BY_PATH.iter().chain(further).map(|call| (*call, Vec::new())));
        // Without a path the call changes the times of a file that was opened.
        calls.insert(libc::SYS_utimensat, vec![rule([argument(1, SeccompCmpOp::Ne, 0)?])?]);
    }
    calls.insert(libc::SYS_socket, sockets(to)?);
    calls.insert(libc::SYS_socketpair, pairs()?);
    let fast_open = has_bits(libc::MSG_FASTOPEN);
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        calls.insert(call, vec![rule([word(flags, fast_open.clone(), libc::MSG_FASTOPEN)?])?]);
    }
    // A process may change its own limits and priority, not those of others.
    for (call, argument, own) in OF_A_PROCESS {
        calls.entry(*call).or_default().push(rule([word(*argument, SeccompCmpOp::Ne, *own)?])?);
    }
    let namespace = |flag: &i32| rule([word(0, has_bits(*flag), *flag)?]);
    calls.insert(libc::SYS_clone, NAMESPACES.iter().map(namespace).collect::<io::Result<_>>()?);
    let keystrokes = [TIOCSTI, TIOCLINUX].map(|request| rule([word(1, SeccompCmpOp::Eq, request)?]));
    calls.insert(libc::SYS_ioctl, keystrokes.into_iter().collect::<io::Result<_>>()?);
    Ok(calls)
}

/// Returns the sockets that are refused: all but TCP, and of the rest those that are not permitted.
///
/// Landlock bounds TCP and nothing beside it, so MPTCP, SCTP and the like would pass; and a Unix socket could reach the
/// kernel's own, or that of a program that starts others.
fn sockets(to: &Confinement) -> io::Result<Vec<SeccompRule>> {
    let mut families = if to.has_network() { vec![libc::AF_INET, libc::AF_INET6] } else { Vec::new() };
    if to.unix_sockets {
        families.push(libc::AF_UNIX);
    }
    if families.is_empty() {
        return Ok(Vec::new());
    }
    if to.has_datagrams() {
        // By it a program learns the addresses of this machine.
        families.push(libc::AF_NETLINK);
    }
    let other = |family: &i32| word(0, SeccompCmpOp::Ne, *family);
    let mut rules = vec![rule(families.iter().map(other).collect::<io::Result<Vec<_>>>()?)?];
    rules.push(rule([
        word(0, SeccompCmpOp::Eq, libc::AF_NETLINK)?,
        word(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE)?,
    ])?);
    for family in [libc::AF_INET, libc::AF_INET6] {
        for kind in 0..=SOCKET_KIND {
            let permitted: &[i32] = match kind {
                libc::SOCK_STREAM => &[0, libc::IPPROTO_TCP],
                libc::SOCK_DGRAM if to.has_datagrams() => &[0, libc::IPPROTO_UDP],
                _ => &[],
            };
            let mut conditions = vec![word(0, SeccompCmpOp::Eq, family)?, is_kind(kind)?];
            for protocol in permitted {
                conditions.push(word(2, SeccompCmpOp::Ne, *protocol)?);
            }
            rules.push(rule(conditions)?);
        }
    }
    Ok(rules)
}

/// Returns the pairs of sockets that are refused: a pair of datagram sockets can be turned to any socket that has a
/// path.
fn pairs() -> io::Result<Vec<SeccompRule>> {
    let mut rules = vec![rule([word(0, SeccompCmpOp::Ne, libc::AF_UNIX)?])?];
    for kind in (0..=SOCKET_KIND).filter(|kind| !matches!(*kind, libc::SOCK_STREAM | libc::SOCK_SEQPACKET)) {
        rules.push(rule([is_kind(kind)?])?);
    }
    Ok(rules)
}

fn is_kind(kind: i32) -> io::Result<SeccompCondition> {
    word(1, has_bits(SOCKET_KIND), kind)
}

fn has_bits(mask: i32) -> SeccompCmpOp {
    SeccompCmpOp::MaskedEq(u64::from(mask.cast_unsigned()))
}

/// Returns a condition on an argument of 32 bits.
fn word(index: u8, is: SeccompCmpOp, value: i32) -> io::Result<SeccompCondition> {
    let value = u64::from(value.cast_unsigned());
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, is, value).map_err(io::Error::other)
}

/// Returns a condition on an argument of 64 bits.
fn argument(index: u8, is: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(index, SeccompCmpArgLen::Qword, is, value).map_err(io::Error::other)
}

fn rule(conditions: impl Into<Vec<SeccompCondition>>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions.into()).map_err(io::Error::other)
}

/// The bits of a socket's type that hold its kind.
const SOCKET_KIND: i32 = 0xf;

/// The request that puts keystrokes into a terminal.
const TIOCSTI: i32 = 0x5412;
/// The request that pastes into a console.
const TIOCLINUX: i32 = 0x541c;

const NAMESPACES: &[i32] = constants! {
    CLONE_NEWUSER CLONE_NEWNS CLONE_NEWNET CLONE_NEWPID CLONE_NEWIPC CLONE_NEWUTS CLONE_NEWCGROUP
};

/// The calls that act on a process, an argument that says on which, and its value for the caller itself.
const OF_A_PROCESS: &[(i64, u8, i32)] = &[
    (libc::SYS_prlimit64, 0, 0),
    (libc::SYS_setpriority, 0, PRIORITY_OF_PROCESS),
    (libc::SYS_setpriority, 1, 0),
    (libc::SYS_ioprio_set, 0, IO_PRIORITY_OF_PROCESS),
    (libc::SYS_ioprio_set, 1, 0),
    (libc::SYS_sched_setparam, 0, 0),
    (libc::SYS_sched_setscheduler, 0, 0),
    (libc::SYS_sched_setattr, 0, 0),
    (libc::SYS_sched_setaffinity, 0, 0),
];

/// The word by which a priority is that of one process, not of a group or a user.
const PRIORITY_OF_PROCESS: i32 = 0;
const IO_PRIORITY_OF_PROCESS: i32 = 1;

const ALWAYS: &[i64] = constants! {
    // Memory and queues that all processes of a user share, under no path.
    SYS_shmget SYS_shmat SYS_shmctl SYS_semget SYS_semop SYS_semtimedop SYS_semctl SYS_msgget SYS_msgsnd
    SYS_msgrcv SYS_msgctl SYS_mq_open SYS_mq_unlink
    // Into other processes.
    SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_process_madvise SYS_pidfd_getfd SYS_kcmp
    SYS_process_mrelease SYS_move_pages SYS_migrate_pages
    // Other views of the file system.
    SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_open_tree SYS_move_mount SYS_fsopen SYS_fsconfig
    SYS_fsmount SYS_fspick SYS_mount_setattr SYS_name_to_handle_at SYS_open_by_handle_at SYS_fanotify_init
    SYS_quotactl SYS_quotactl_fd SYS_swapon SYS_swapoff
    // Namespaces.
    SYS_unshare SYS_setns
    // Work that the system does later, past this filter.
    SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register SYS_bpf SYS_userfaultfd SYS_perf_event_open
    // Keys of the user's session.
    SYS_keyctl SYS_add_key SYS_request_key
    // The system itself.
    SYS_kexec_load SYS_init_module SYS_finit_module SYS_delete_module SYS_reboot SYS_acct SYS_syslog
    SYS_vhangup SYS_personality SYS_sethostname SYS_setdomainname SYS_settimeofday SYS_clock_settime
    SYS_clock_adjtime SYS_adjtimex
};

/// The calls that change modes, owners, attributes and times by path, which Landlock does not bound. The calls that
/// take the number of an open file stay, since that file could be opened.
const CHANGES_BY_PATH: &[i64] = constants! {
    SYS_fchmodat SYS_fchownat SYS_setxattr SYS_lsetxattr SYS_removexattr SYS_lremovexattr
};

/// The further calls of [`ALWAYS`] and of [`CHANGES_BY_PATH`] that only processors of the kind x86-64 have.
#[cfg(target_arch = "x86_64")]
const OF_X86: [&[i64]; 2] = [
    constants! { SYS_kexec_file_load SYS_iopl SYS_ioperm SYS_modify_ldt },
    constants! { SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat },
];
#[cfg(not(target_arch = "x86_64"))]
const OF_X86: [&[i64]; 2] = [&[], &[]];

/// The number of a call that the crate's list does not have yet; it is the same on all processors that filters are made
/// for.
const FCHMODAT2: i64 = 452;

/// The number of the first call that the lists here do not judge, `setxattrat`; the same on all processors.
const FIRST_UNKNOWN: u32 = 463;

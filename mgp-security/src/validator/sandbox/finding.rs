//! The classes of dangers that are refused, each with advice for the agent.

use crate::Finding;

/// A class of danger: its name, and the advice for the agent.
pub(super) type Danger = (&'static str, &'static str);

pub(super) fn refuse((rule, message): Danger) -> Finding {
    Finding::new(rule, message)
}

pub(super) const REFUSE_UNDECIDABLE: Danger = (
    "undecidable",
    "what this command would run depends on values that are not known yet; write the program and its arguments out",
);
pub(super) const REFUSE_OBFUSCATION: Danger =
    ("obfuscation", "the command is spelled in a way that hides what it does; write it plainly");
pub(super) const REFUSE_COMPLEX: Danger =
    ("too-complex", "the command is too long or too deeply nested to be judged; split it into several calls");
pub(super) const REFUSE_INVISIBLE: Danger =
    ("invisible-character", "the text holds control or invisible characters; send visible text only");
pub(super) const REFUSE_RECURSIVE_DELETE: Danger = (
    "recursive-delete",
    "deleting whole trees is not allowed; name the files to delete one by one, or ask the user",
);
pub(super) const REFUSE_DEVICE: Danger =
    ("device", "writing to disks or memory is not allowed; work on files instead");
pub(super) const REFUSE_SYSTEM_PATH: Danger =
    ("system-path", "changing files of the system is not allowed; write below the working directory");
pub(super) const REFUSE_RUNS_LATER: Danger = (
    "persistence",
    "changing what runs at login, on a schedule or inside other programs is not allowed; ask the user to do it",
);
pub(super) const REFUSE_FORK_BOMB: Danger =
    ("fork-bomb", "processes that multiply without end are not allowed; start a fixed number of them");
pub(super) const REFUSE_EXHAUSTION: Danger =
    ("resource-exhaustion", "output without end is not allowed; limit it with head or a count");
pub(super) const REFUSE_REVERSE_SHELL: Danger = (
    "reverse-shell",
    "joining a shell or a raw socket to the network is not allowed; use a tool made for the transfer",
);
pub(super) const REFUSE_DOWNLOAD: Danger = (
    "download-and-run",
    "running what was just downloaded or decoded is not allowed; save it, have it reviewed, and run it by name",
);
pub(super) const REFUSE_SECRET: Danger =
    ("secret", "reading passwords, keys or tokens is not allowed; ask the user for what is needed");
pub(super) const REFUSE_EXFILTRATION: Danger =
    ("exfiltration", "sending data about this machine elsewhere is not allowed; show it to the user instead");
pub(super) const REFUSE_METADATA: Danger =
    ("cloud-metadata", "the metadata service of the cloud may not be asked; ask the user for what is needed");
pub(super) const REFUSE_PRIVILEGE: Danger =
    ("privilege", "changing who may do what on this machine is not allowed; ask the user to do it");
pub(super) const REFUSE_SECURITY: Danger =
    ("security-control", "switching off protections is not allowed; ask the user to do it");
pub(super) const REFUSE_LOG: Danger =
    ("log-wiping", "deleting logs or the command history is not allowed; leave them as they are");
pub(super) const REFUSE_POWER: Danger =
    ("power", "stopping or restarting the machine is not allowed; ask the user to do it");
pub(super) const REFUSE_KILL: Danger =
    ("kill-all", "ending processes wholesale is not allowed; name the process to end");
pub(super) const REFUSE_CODE: Danger = (
    "interpreter",
    "code on a command line may not run programs, open sockets or delete files; call the program directly",
);
pub(super) const REFUSE_OPTION: Danger =
    ("option-injection", "this option makes the program run another one; leave it out");
pub(super) const REFUSE_ENVIRONMENT: Danger =
    ("environment", "this variable makes programs load or run something else; leave it unset");
pub(super) const REFUSE_DECISION: Danger = (
    "decision",
    "what the operators of the kernel decide, and the kernel's own files and process, are not for agents; ask the user to run it",
);
pub(super) const REFUSE_LOST_WORK: Danger = (
    "lost-work",
    "throwing away work that is kept nowhere else is not allowed; stash or branch it first, or ask the user to do it",
);
pub(super) const REFUSE_FOREIGN_PACKAGE: Danger = (
    "foreign-package",
    "installing from an address is not allowed; name a package of the registry, or ask the user to install it",
);

pub(super) const REFUSE_DESTRUCTION: Danger = (
    "destruction",
    "destroying databases, backups, machines or what else runs or is stored elsewhere is not allowed; ask the user to do it",
);
pub(super) const REFUSE_SERVED_FOLDER: Danger = (
    "served-folder",
    "opening a home or the whole system to the network is not allowed; serve a folder of the working directory",
);

/// Returns the class with the name `class`.
pub(super) fn danger(class: &str) -> Option<Danger> {
    CLASSES.iter().find(|(name, _)| *name == class).copied()
}

/// The classes that the table of programs names.
const CLASSES: [Danger; 16] = [
    REFUSE_DEVICE, REFUSE_SYSTEM_PATH, REFUSE_RUNS_LATER, REFUSE_REVERSE_SHELL, REFUSE_DOWNLOAD,
    REFUSE_SECRET, REFUSE_EXFILTRATION, REFUSE_PRIVILEGE, REFUSE_SECURITY, REFUSE_POWER, REFUSE_KILL,
    REFUSE_OPTION, REFUSE_DECISION, REFUSE_LOST_WORK, REFUSE_FOREIGN_PACKAGE, REFUSE_DESTRUCTION,
];

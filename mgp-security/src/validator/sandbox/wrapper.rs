//! Programs whose arguments are a command, and how they take it.

/// How a program takes the command it runs: behind its own options and a number of operands.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Short options whose value is the next argument.
    pub(super) short: &'static str,
    /// Long options whose value is the next argument.
    pub(super) long: &'static [&'static str],
    /// Operands before the command.
    pub(super) skip: usize,
    /// Whether the command is handed to a shell as one text.
    pub(super) shell: bool,
}

const fn plain(name: &'static str, short: &'static str, skip: usize) -> Wrapper {
    Wrapper { name, short, long: &[], skip, shell: false }
}

const SUDO_LONG: &[&str] = &[
    "user",
    "group",
    "prompt",
    "chdir",
    "host",
    "role",
    "type",
    "close-from",
    "other-user",
    "command-timeout",
    "chroot",
];

pub(super) const WRAPPERS: [Wrapper; 56] = [
    Wrapper { name: "sudo", short: "ugpChrtTDUR", long: SUDO_LONG, skip: 0, shell: false },
    plain("doas", "uC", 0),
    Wrapper { name: "env", short: "uSC", long: &["unset", "chdir", "split-string"], skip: 0, shell: false },
    plain("nohup", "", 0),
    plain("setsid", "", 0),
    Wrapper { name: "nice", short: "n", long: &["adjustment"], skip: 0, shell: false },
    Wrapper { name: "ionice", short: "cnpPu", long: &["class", "classdata", "pid"], skip: 0, shell: false },
    Wrapper { name: "time", short: "fo", long: &["format", "output"], skip: 0, shell: false },
    Wrapper { name: "timeout", short: "ks", long: &["kill-after", "signal"], skip: 1, shell: false },
    plain("gtimeout", "ks", 1),
    Wrapper { name: "stdbuf", short: "ioe", long: &["input", "output", "error"], skip: 0, shell: false },
    plain("unbuffer", "", 0),
    plain("chrt", "TPD", 1),
    plain("taskset", "", 1),
    plain("numactl", "NmCiplP", 0),
    plain("exec", "a", 0),
    plain("command", "", 0),
    plain("builtin", "", 0),
    plain("busybox", "", 0),
    plain("toybox", "", 0),
    plain("strace", "eopPsSuaEIbOX", 0),
    plain("ltrace", "eopPsSuaElnx", 0),
    plain("valgrind", "", 0),
    Wrapper { name: "watch", short: "nq", long: &["interval", "equexit"], skip: 0, shell: true },
    Wrapper {
        name: "xargs",
        short: "IJaEdLnPs",
        long: &[
            "arg-file",
            "delimiter",
            "max-lines",
            "max-args",
            "max-procs",
            "max-chars",
            "process-slot-var",
        ],
        skip: 0,
        shell: false,
    },
    Wrapper {
        name: "parallel",
        short: "IjaCdNnLPsS",
        long: &["jobs", "arg-file", "colsep", "delay", "joblog", "sshlogin", "timeout"],
        skip: 0,
        shell: true,
    },
    Wrapper { name: "chroot", short: "", long: &["userspec", "groups"], skip: 1, shell: false },
    plain("unshare", "RwSG", 0),
    Wrapper {
        name: "nsenter",
        short: "tSGrwW",
        long: &["target", "setuid", "setgid"],
        skip: 0,
        shell: false,
    },
    plain("fakeroot", "lsib", 0),
    plain("fakechroot", "", 0),
    plain("proot", "rbRSwkq0", 0),
    plain("firejail", "", 0),
    plain("bwrap", "", 0),
    plain("proxychains", "f", 0),
    plain("proxychains4", "f", 0),
    plain("torsocks", "", 0),
    plain("systemd-run", "puHMEt", 0),
    Wrapper {
        name: "flock",
        short: "wEc",
        long: &["timeout", "conflict-exit-code", "command"],
        skip: 1,
        shell: false,
    },
    plain("entr", "", 0),
    plain("dbus-run-session", "", 0),
    plain("xvfb-run", "enfps", 0),
    plain("caffeinate", "tw", 0),
    plain("systemd-inhibit", "", 0),
    Wrapper { name: "pkexec", short: "", long: &["user"], skip: 0, shell: false },
    plain("runuser", "ugGsT", 0),
    plain("npx", "p", 0),
    plain("gosu", "", 1),
    plain("su-exec", "", 1),
    plain("setpriv", "", 0),
    plain("sshpass", "pfde", 0),
    plain("retry", "dt", 0),
    plain("faketime", "f", 1),
    plain("rlwrap", "", 0),
    plain("setarch", "", 1),
    plain("prlimit", "", 0),
];

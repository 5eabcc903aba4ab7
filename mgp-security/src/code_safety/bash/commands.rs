//! Which commands do what.

/// Commands that run texts as code, gain rights, open connections, or change the machine.
pub(super) const DANGEROUS: &[&str] = &[
    "eval", "exec", "sudo", "su", "doas", "pkexec", "runuser", "nc", "ncat", "netcat", "socat", "telnet", "ssh", "scp", "sftp", "ftp",
    "tftp", "rsh", "rlogin", "shred", "wipefs", "fdisk", "sfdisk", "parted", "dd", "mount", "umount", "losetup", "insmod", "rmmod",
    "modprobe", "crontab", "at", "batch", "systemctl", "service", "shutdown", "reboot", "halt", "poweroff", "init", "telinit", "useradd",
    "userdel", "usermod", "groupadd", "passwd", "chpasswd", "visudo", "chattr", "setcap", "iptables", "nft", "ufw", "docker", "podman",
    "kubectl", "nsenter", "unshare", "chroot", "capsh", "gdb", "strace", "ltrace", "nmap", "masscan", "hping3", "tcpdump", "kexec",
    "sysctl", "swapoff", "mkswap", "debugfs", "expect", "script", "screen", "tmux", "enable", "xdg-open", "osascript", "powershell", "pwsh",
    "killall", "pkill", "kill", "busybox", "ed", "vi", "vim", "emacs", "gpg", "openssl", "keyctl",
];

/// Commands that give surroundings away or change how later commands run.
pub(super) const STRICT: &[&str] =
    &["env", "printenv", "set", "export", "alias", "trap", "ulimit", "umask", "history", "who", "w", "last", "lsof", "netstat", "ss", "ip", "ifconfig", "arp", "dmesg", "nohup", "setsid", "disown", "chown", "chgrp"];

/// Programs that run code.
pub(super) const INTERPRETERS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "csh", "tcsh", "fish", "ash", "python", "python2", "python3", "perl", "ruby", "node", "nodejs",
    "php", "lua", "deno", "bun", "tclsh", "R", "Rscript", "ipython",
];

/// Commands that run the command among their arguments.
pub(super) const WRAPPERS: &[&str] = &[
    "command", "builtin", "env", "nice", "nohup", "time", "timeout", "stdbuf", "xargs", "setsid", "ionice", "watch", "parallel", "flock",
    "chronic", "caffeinate", "unbuffer", "coproc", "taskset", "setarch", "linux64",
];

/// Commands that change files, packages or services.
pub(super) const MUTATING: &[&str] = &[
    "rm", "mv", "cp", "mkdir", "rmdir", "touch", "tee", "ln", "install", "chmod", "chown", "chgrp", "truncate", "mktemp", "rsync", "patch",
    "unzip", "gunzip", "gzip", "bunzip2", "bzip2", "xz", "zip", "tar", "split", "csplit", "sponge", "pip", "pip3", "npm", "yarn", "pnpm",
    "npx", "cargo", "go", "gem", "apt", "apt-get", "dpkg", "yum", "dnf", "rpm", "brew", "snap", "apk", "pacman", "make", "cmake", "psql",
    "mysql", "sqlite3", "mongo", "redis-cli", "aws", "gcloud", "az", "terraform", "ansible", "helm", "mail", "sendmail", "logger", "wall",
];

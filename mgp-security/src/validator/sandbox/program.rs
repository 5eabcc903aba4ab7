//! The names of programs that are run by whoever gets a command line into a value.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Whether the name of a program can be mistaken for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// No other text begins with it.
    Name,
    /// It is a word of English that makes little sense without arguments.
    Word,
    /// It is a word of English, or a short name, that runs alone too.
    Both,
}

/// What `name`, with or without directories, is the name of.
pub(super) fn kind_of(name: &str) -> Option<Kind> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or("");
    if name.len() > MAX_NAME {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    KINDS.get(lower.strip_suffix(".exe").unwrap_or(&lower)).copied()
}

static KINDS: LazyLock<HashMap<&'static str, Kind>> = LazyLock::new(|| {
    let kinds = [(NAMES, Kind::Name), (WORDS, Kind::Word), (BOTH, Kind::Both)];
    kinds
        .into_iter()
        .flat_map(|(names, kind)| names.split_whitespace().map(move |name| (name, kind)))
        .collect()
});

const MAX_NAME: usize = 24;

const NAMES: &str = "
    ls whoami uname ifconfig ipconfig netstat pwd wget curl nslookup tracert traceroute systeminfo tasklist taskkill
    chmod chown chgrp rm mv cp mkdir rmdir ln dd mkfs tar gzip gunzip zcat unzip bash sh zsh ksh csh tcsh 
    cmd powershell pwsh python2 python3 gcc nc ncat netcat socat telnet ssh scp sftp rsync
    tftp grep egrep fgrep awk gawk sed xargs vi vim nano sudo doas ps pkill killall lsof env printenv
    crontab useradd usermod userdel adduser passwd chpasswd mkfifo mknod iptables ufw setenforce systemctl journalctl
    nohup setsid busybox certutil bitsadmin mshta regsvr32 rundll32 wscript cscript wmic schtasks vssadmin netsh bcdedit
    hostname nmap tcpdump dmesg getent openssl base64 xxd od hexdump lscpu lsblk ifup ip6tables dscl sysinfo
    phpinfo whois ipcs vmstat iostat uptime chroot kubectl apt apt-get yum dnf pip npm 
";

const WORDS: &str = "
    cat find sort cut head tail more less man join split touch echo printf test make kill time watch who which where type
    copy move del erase rd format net reg at sc start call host dig ping expand compare replace strings file history
    look finger mail write wall talk read set unset export source eval exec trap alias command service init mount
    umount shred timeout nice stat locate tree diff patch install last strip watch wait fold paste nl tr uniq wc rev
    node fish ruby php perl python dash du su df ver arp tee docker git lua
    yes seq expr attrib fc assoc tasks route shift sleep
";

const BOTH: &str = "
    id date dir w ll env reboot shutdown halt poweroff top cal route printenv
";

//! The table of the programs that are known to read, and of their options.

use super::options::{NONE, ProgramOptions};

/// The rule by which the arguments of a program are judged.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProgramRule {
    /// The program only reads, whatever its arguments are.
    Reads,
    /// The program reads if all its options are among these.
    With(&'static ProgramOptions),
    /// The program reads unless one of these options is given.
    Without(&'static [&'static str]),
    Find,
    Date,
    Curl,
    Git,
    Sed,
}

pub(super) fn find(name: &str) -> Option<ProgramRule> {
    if READING.contains(&name) {
        return Some(ProgramRule::Reads);
    }
    Some(match name {
        "curl" => ProgramRule::Curl,
        "date" => ProgramRule::Date,
        "file" => ProgramRule::With(&FILE),
        "find" => ProgramRule::Find,
        "git" => ProgramRule::Git,
        "hostname" => ProgramRule::With(&HOSTNAME),
        "rg" => ProgramRule::Without(&["pre", "hostname-bin"]),
        "sed" => ProgramRule::Sed,
        "sort" => ProgramRule::With(&SORT),
        "tree" => ProgramRule::With(&TREE),
        "uniq" => ProgramRule::With(&UNIQ),
        _ => return None,
    })
}

/// The programs without any option that writes or starts another program.
const READING: [&str; 57] = [
    "arch", "b2sum", "base32", "base64", "basename", "cat", "cksum", "cmp", "column", "comm", "cut", "df",
    "diff", "dirname", "du", "echo", "egrep", "expand", "expr", "false", "fgrep", "fmt", "fold", "free",
    "getent", "grep", "groups", "head", "hexdump", "id", "join", "jq", "ls", "lsblk", "lscpu", "md5sum",
    "nl", "nproc", "od", "paste", "printenv", "ps", "pwd", "readlink", "realpath", "rev", "seq", "sha1sum",
    "sha256sum", "sha512sum", "stat", "strings", "tac", "tail", "test", "tr", "true",
];

/// The tests, operators and printing actions of find.
pub(super) const FIND: [&str; 66] = [
    "H", "L", "P", "a", "amin", "and", "anewer", "atime", "cmin", "cnewer", "ctime", "daystart", "depth",
    "empty", "executable", "false", "follow", "fstype", "gid", "group", "ignore_readdir_race", "ilname",
    "iname", "inum", "ipath", "iregex", "iwholename", "links", "lname", "ls", "maxdepth", "mindepth", "mmin",
    "mount", "mtime", "name", "newer", "nogroup", "noleaf", "not", "nouser", "nowarn", "o", "or", "path",
    "perm", "print", "print0", "printf", "prune", "quit", "readable", "regex", "regextype", "samefile",
    "size", "true", "type", "uid", "used", "user", "warn", "wholename", "writable", "xdev", "xtype",
];

/// The options of curl, except those that send data, write files, read a configuration, or connect through another
/// host.
pub(super) const CURL: ProgramOptions = ProgramOptions {
    flags: "012346GILNSfgijklnqsv#",
    values: "ACHXbemoruwyYz",
    long: &[
        "basic", "compressed", "digest", "fail", "fail-with-body", "get", "globoff", "head", "http1.1",
        "http2", "include", "insecure", "ipv4", "ipv6", "location", "no-buffer", "no-progress-meter",
        "path-as-is", "progress-bar", "retry-all-errors", "show-error", "show-headers", "silent", "ssl-reqd",
        "tlsv1.2", "tlsv1.3", "verbose",
    ],
    long_values: &[
        "cacert", "connect-timeout", "header", "limit-rate", "max-filesize", "max-redirs", "max-time",
        "oauth2-bearer", "output", "range", "referer", "request", "retry", "retry-delay", "retry-max-time",
        "url", "user", "user-agent", "write-out",
    ],
    ..NONE
};

/// The options of date, except the one that sets the clock.
pub(super) const DATE: ProgramOptions = ProgramOptions {
    flags: "uRI",
    values: "dr",
    long: &["utc", "universal", "rfc-email", "iso-8601"],
    long_values: &["date", "reference", "rfc-3339"],
    ..NONE
};

/// The options of file, except the one that compiles a table.
const FILE: ProgramOptions = ProgramOptions {
    flags: "bcdEhikLlNnprsSvz0",
    values: "eFfmP",
    long: &["brief", "mime", "mime-type", "mime-encoding", "dereference", "no-dereference", "extension"],
    ..NONE
};

/// The options of hostname, without operands, since an operand would become the new name of the host.
const HOSTNAME: ProgramOptions = ProgramOptions {
    flags: "adfiIsAy",
    long: &["fqdn", "short", "domain", "ip-address", "long"],
    most_operands: 0,
    ..NONE
};

/// The options of sort, except those that name an output, or a program for compression.
const SORT: ProgramOptions = ProgramOptions {
    flags: "bCcdfghiMmnRrsuVz",
    values: "ktS",
    long: &[
        "check", "debug", "dictionary-order", "general-numeric-sort", "human-numeric-sort", "ignore-case",
        "ignore-leading-blanks", "merge", "month-sort", "numeric-sort", "random-sort", "reverse", "stable",
        "unique", "version-sort", "zero-terminated",
    ],
    long_values: &["buffer-size", "field-separator", "key", "parallel", "sort"],
    ..NONE
};

/// The options of tree, except the one that names an output.
const TREE: ProgramOptions = ProgramOptions {
    flags: "aACDdFfghiJlNnpqQrSstuUvXx",
    values: "ILP",
    long: &["dirsfirst", "du", "gitignore", "inodes", "matchdirs", "noreport", "prune"],
    long_values: &["charset", "filelimit", "sort", "timefmt"],
    ..NONE
};

/// The options of uniq, with one operand, since a second one would be the output.
const UNIQ: ProgramOptions = ProgramOptions {
    flags: "cDdiuz",
    values: "fsw",
    long: &["count", "ignore-case", "repeated", "unique", "zero-terminated"],
    long_values: &["check-chars", "skip-chars", "skip-fields"],
    most_operands: 1,
};

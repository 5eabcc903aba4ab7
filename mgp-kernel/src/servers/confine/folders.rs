//! The known places of programs, libraries and settings on each system. The rules stand in [`opened`](super::opened).

/// The paths that every program needs to start: programs, libraries, and what libraries look up.
#[cfg(not(target_os = "macos"))]
pub(super) const SYSTEM: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/etc/alternatives", "/etc/ca-certificates", "/etc/crypto-policies", "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types", "/etc/pki/ca-trust",
    "/etc/pki/tls/cert.pem", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/ssl/cert.pem",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/timezone", "/proc/cpuinfo", "/proc/meminfo",
    "/sys/devices/system/cpu",
];

#[cfg(target_os = "macos")]
pub(super) const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/System",
    "/Library/Apple",
    "/Library/Developer/CommandLineTools",
    "/Library/Frameworks",
    "/opt/homebrew",
    "/opt/local",
    "/private/etc/localtime",
    "/private/etc/ssl",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
];

/// The prefixes of the names that interpreters use in [`SETTINGS`]; each version has its own.
pub(super) const OF_INTERPRETERS: &[&str] = &["java-", "perl", "python", "ruby"];

/// The folder in which systems keep settings.
pub(super) const SETTINGS: &str = "/etc";

/// The folders of what is no file: devices, processes and the system's settings. No permission for files opens them.
pub(super) const OF_THE_SYSTEM: &[&str] = &["/dev", "/proc", "/sys"];

/// The devices that hold nothing.
pub(super) const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The files that a program needs to resolve names of hosts.
pub(super) const NAMES_OF_HOSTS: &[&str] = &[
    "/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/protocols",
    "/etc/resolv.conf", "/etc/services", "/private/etc/hosts", "/private/etc/protocols",
    "/private/etc/resolv.conf", "/private/etc/services", "/private/var/run/resolv.conf",
];

/// The port of the name service.
pub(super) const NAME_SERVICE: u16 = 53;

/// The names of a program's folder where the folder above it is an installation, with libraries beside it.
pub(super) const PROGRAM_FOLDERS: &[&str] = &["bin", "libexec", "shims", "Scripts"];

/// The names of the library folders beside the programs of an installation.
pub(super) const LIBRARY_FOLDERS: &[&str] = &["lib", "lib64", "libexec"];

/// The folders of a home that hold programs, and so much else that they are no installation.
pub(super) const SHARED_IN_HOME: &[&str] = &[".local", ".cargo", ".config", "go", "Library"];

/// The extensions of files that an interpreter runs, and that find their libraries in their folder.
pub(super) const SCRIPTS: &[&str] = &["py", "pyz", "sh", "bash", "rb", "pl", "php", "lua", "jar", "dll"];

/// The extensions of files that an interpreter runs, and that find their libraries in the folder of their package, too: the
/// next folder above that has a `package.json`.
pub(super) const SCRIPTS_OF_PACKAGES: &[&str] = &["js", "mjs", "cjs", "ts", "mts", "cts", "tsx"];

/// The file that marks the folder of a JavaScript package.
pub(super) const PACKAGE: &str = "package.json";

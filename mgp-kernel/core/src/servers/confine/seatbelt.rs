//! Confinement on macOS: a profile for `sandbox-exec`.

use std::fmt::Write as _;
use std::path::Path;

use super::spec::{Confinement, PathAccess, Ports};

/// The program that confines another one to a profile.
#[cfg(target_os = "macos")]
pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Returns the profile of a confinement.
pub(super) fn profile(to: &Confinement) -> String {
    let mut text = BASE.to_owned();
    let mut say = |line: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _infallible = text.write_fmt(line);
        text.push('\n');
    };
    for opened in &to.paths {
        let (path, rights) = (quoted(&opened.path), rights(opened.access));
        say(format_args!("(allow {rights} (subpath {path}))"));
    }
    for path in &to.read_only {
        say(format_args!("(deny file-write* (subpath {}))", quoted(path)));
    }
    for (ports, direction, side) in
        [(&to.connect, "network-outbound", "remote"), (&to.listen, "network-bind network-inbound", "local")]
    {
        match ports {
            Ports::Closed => {}
            Ports::Only(ports) => {
                for port in ports {
                    say(format_args!("(allow {direction} ({side} tcp \"*:{port}\"))"));
                }
            }
            Ports::All => say(format_args!("(allow {direction} ({side} ip))")),
        }
    }
    if to.has_network() {
        say(format_args!("(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))"));
        say(format_args!("(allow system-socket)"));
        for service in NETWORK_SERVICES {
            say(format_args!("(allow mach-lookup (global-name \"{service}\"))"));
        }
    }
    if to.unix_sockets {
        say(format_args!("(allow network-outbound network-bind (local unix-socket) (remote unix-socket))"));
    }
    if !to.change_modes {
        say(format_args!("(deny file-write-mode file-write-owner file-write-flags)"));
    }
    text
}

const fn rights(access: PathAccess) -> &'static str {
    match access {
        PathAccess::List => "file-read-metadata",
        PathAccess::Read => "file-read* process-exec file-map-executable",
        PathAccess::Write => "file-read* file-write* process-exec file-map-executable",
        PathAccess::Device => "file-read* file-write-data file-ioctl",
    }
}

fn quoted(path: &Path) -> String {
    let mut text = String::from("\"");
    for c in path.to_string_lossy().chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    text
}

/// The services of the system that resolve names, and check certificates. A program that finds all services could have one of
/// them open files or start programs outside of the sandbox.
const NETWORK_SERVICES: [&str; 7] = [
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.SystemConfiguration.configd",
    "com.apple.dnssd.service",
    "com.apple.networkd",
    "com.apple.securityd",
    "com.apple.trustd",
    "com.apple.trustd.agent",
];

/// The rules that every program needs to start. Names of files may be looked up anywhere, as on Linux; their content
/// may not be read.
const BASE: &str = include_str!("base.sb");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_denies_all_that_it_does_not_open() {
        let text = profile(&Confinement::default());
        assert!(text.starts_with("(version 1)\n(deny default)\n"), "{text}");
        assert!(!text.contains("network") && !text.contains("file-write*"), "{text}");
        assert!(text.contains("(deny file-write-mode"), "{text}");
    }

    #[test]
    fn a_profile_opens_paths_and_ports() {
        let mut to = Confinement { connect: Ports::Only(vec![443]), ..Confinement::default() };
        to.open("/data/a \"b\" \\c", PathAccess::Write);
        to.open("/usr", PathAccess::Read);
        to.read_only.insert("/data/.git/hooks".into());
        let text = profile(&to);
        for line in [
            r#"(allow file-read* file-write* process-exec file-map-executable (subpath "/data/a \"b\" \\c"))"#,
            r#"(allow file-read* process-exec file-map-executable (subpath "/usr"))"#,
            r#"(allow network-outbound (remote tcp "*:443"))"#,
            r#"(deny file-write* (subpath "/data/.git/hooks"))"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
        assert!(!text.contains("(remote ip)") && !text.contains("unix-socket"), "{text}");
    }

    #[test]
    fn a_network_opens_the_services_that_it_needs_and_no_others() {
        let text = profile(&Confinement { connect: Ports::Only(vec![443]), ..Confinement::default() });
        assert!(text.contains("(allow mach-lookup (global-name \"com.apple.trustd\"))"), "{text}");
        let is_limited =
            |line: &str| !line.contains("mach-lookup") || line.contains("mach-lookup (global-name");
        assert!(text.lines().all(is_limited), "{text}");
    }

    #[test]
    fn the_whole_network_is_one_line() {
        let text = profile(&Confinement { connect: Ports::All, ..Confinement::default() });
        assert!(text.contains("(allow network-outbound (remote ip))"), "{text}");
    }
}

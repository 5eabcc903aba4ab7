//! The rules about the network: shells connected to it, data sent out, and the metadata service of the cloud.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Finding;

use super::super::finding::{REFUSE_EXFILTRATION, REFUSE_REVERSE_SHELL, REFUSE_UNDECIDABLE, refuse};
use super::super::known::{Trait, facts, holds_listed, is_listed};
use super::super::value::{Arg, HOLE, Marks};
use super::Call;

pub(super) fn check(call: &Call<'_>) -> Result<(), Finding> {
    joins_shell(call)?;
    if is_client(call.program) {
        carries_out(call)?;
    }
    resolves_data(call)
}

/// Returns whether the program talks to other machines.
pub(super) fn is_client(program: &str) -> bool {
    facts(program).is_some_and(|facts| facts.has(Trait::Client))
}

/// Returns whether `text` is a network device: `/dev/tcp/host/port`, or an address of awk.
pub(in super::super) fn is_network_device(text: &str) -> bool {
    holds_listed("network-devices", text)
}

/// Returns whether `text` names a metadata service. With `bare`, a host without a scheme counts as well.
pub(in super::super) fn address_of_metadata(text: &str, bare: bool) -> bool {
    let lower = text.to_ascii_lowercase();
    if lower.contains("169.254.169.254") && (bare || lower.contains("://")) {
        return true;
    }
    let (scheme, rest) = lower.split_once("://").map_or((false, lower.as_str()), |(_, rest)| (true, rest));
    if !scheme && !bare {
        return false;
    }
    let authority = rest.split(['/', '?', '#', '\\', HOLE]).next().unwrap_or("");
    let authority = authority.rsplit('@').next().unwrap_or("");
    if let Some(end) = authority.strip_prefix('[').and_then(|inner| inner.find(']').map(|end| &inner[..end]))
    {
        return end.parse::<Ipv6Addr>().is_ok_and(|address| is_metadata(IpAddr::V6(address)));
    }
    let host = authority.split(':').next().unwrap_or("").trim_end_matches('.');
    is_listed("metadata-names", host)
        || ["169-254-169-254", "a9fea9fe"].iter().any(|spelled| host.contains(spelled))
        || legacy_address(host).is_some_and(|address| is_metadata(IpAddr::V4(address)))
}

fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            matches!(v4.octets(), [169, 254, 169 | 170, _] | [100, 100, 100, 200] | [192, 0, 0, 192])
        }
        IpAddr::V6(v6) => {
            v6.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]
                || v6.to_ipv4().is_some_and(|v4| is_metadata(IpAddr::V4(v4)))
        }
    }
}

/// Reads an IPv4 address as old resolvers do: up to four numbers, each decimal, octal or hexadecimal.
fn legacy_address(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = host.split('.').collect();
    if parts.len() > 4 || !host.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let number = |text: &str| -> Option<u32> {
        if let Some(hex) = text.strip_prefix("0x") {
            u32::from_str_radix(hex, 16).ok()
        } else if text.len() > 1 && text.starts_with('0') {
            u32::from_str_radix(text, 8).ok()
        } else {
            text.parse().ok()
        }
    };
    let (last, first) = parts.split_last()?;
    let mut address = number(last)?;
    for (at, part) in first.iter().enumerate() {
        address |= (number(part)? & 0xff) << (24 - 8 * u32::try_from(at).ok()?);
    }
    Some(Ipv4Addr::from(address))
}

fn joins_shell(call: &Call<'_>) -> Result<(), Finding> {
    let joined = match call.program {
        "nc" | "ncat" | "netcat" | "nc.traditional" | "nc.openbsd" | "pwncat" | "rcat" => {
            call.args.iter().any(|arg| {
                let text = arg.text.as_str();
                let cluster = text.starts_with('-') && !text.starts_with("--");
                matches!(text, "--exec" | "--sh-exec" | "--lua-exec" | "-e" | "-c")
                    || (cluster && text.ends_with(['e', 'c']) && text.len() <= 6)
                    || text.starts_with("--exec=")
                    || text.starts_with("--sh-exec=")
                    || is_shell_path(text)
            })
        }
        "socat" => call.args.iter().any(|arg| {
            let lower = arg.text.to_ascii_lowercase();
            ["exec:", "system:", "shell:", "exec ", "pty"].iter().any(|kind| lower.starts_with(kind))
                || (lower.starts_with("file:") && (lower.contains("tty") || lower.contains("raw,echo=0")))
        }),
        "xterm" | "uxterm" | "rxvt" | "urxvt" => {
            let display = call.args.windows(2).find(|two| matches!(two[0].text.as_str(), "-display" | "-d"));
            display.is_some_and(|two| {
                let host = two[1].text.split(':').next().unwrap_or("");
                !matches!(host, "" | "localhost" | "127.0.0.1" | "unix") && !host.contains(HOLE)
            })
        }
        "telnet" => call.args.iter().any(|arg| is_shell_path(&arg.text)),
        program if is_shell(program) => {
            // A person does not talk to an interactive shell through a pipe, but another machine may.
            call.input.is_fed() && call.has("-i")
        }
        _ => false,
    };
    if joined { Err(refuse(REFUSE_REVERSE_SHELL)) } else { Ok(()) }
}

pub(in super::super) fn is_shell(program: &str) -> bool {
    facts(program).is_some_and(|facts| facts.has(Trait::Shell))
}

fn is_shell_path(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|rest| is_shell(rest.rsplit('/').next().unwrap_or("")))
        || text.to_ascii_lowercase().ends_with("cmd.exe")
        || text.to_ascii_lowercase().ends_with("powershell.exe")
}

/// Returns whether a word of the command names this machine.
pub(in super::super) fn is_local_host(word: &str) -> bool {
    let (_, rest) = word.split_once("://").unwrap_or(("", word));
    let authority = rest.split(['/', '?']).next().unwrap_or("");
    let host = authority.rsplit('@').next().unwrap_or("").trim_start_matches('[');
    matches!(
        host.split([':', ']', ',']).next().unwrap_or(""),
        "localhost" | "127.0.0.1" | "0.0.0.0" | "host.docker.internal"
    ) || host.starts_with("::1")
        || word.to_ascii_lowercase().contains(":localhost:")
}

/// Returns whether a word of the command names a machine outside this one and the local network.
fn is_remote_host(word: &str) -> bool {
    let (_, rest) = word.split_once("://").unwrap_or(("", word));
    let host = rest.split(['/', '?']).next().unwrap_or("").rsplit('@').next().unwrap_or("");
    let host = host
        .rsplit_once(':')
        .map_or(host, |(host, port)| if port.parse::<u16>().is_ok() { host } else { port });
    let named = host.split('.').filter(|part| !part.is_empty()).count() > 1;
    named && !is_local_host(word) && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-[]:".contains(&b))
}

fn carries_out(call: &Call<'_>) -> Result<(), Finding> {
    // A program with a raw connection, or one that sends all of its input, sends the facts about this machine that are
    // in its input.
    let marks = call.input.marks;
    let raw = facts(call.program).is_some_and(|facts| facts.has(Trait::Raw));
    let all = call.args.iter().any(|arg| arg.text == "-" || arg.text.ends_with("@-"));
    if marks.has(Marks::TELLING)
        && (raw || all && !marks.has(Marks::FILE) && !is_listed("own-clients", call.program))
        && call.args.iter().any(|arg| is_remote_host(&arg.text))
    {
        return Err(refuse(REFUSE_EXFILTRATION));
    }
    let secret = |arg: &Arg| arg.marks.has(Marks::SENSITIVE);
    if call.input.marks.has(Marks::SENSITIVE) || call.args.iter().any(secret) {
        return Err(refuse(REFUSE_EXFILTRATION));
    }
    // People send archives and disks to their own machines with programs that log in.
    let logs_in = matches!(call.program, "ssh" | "scp" | "sftp" | "rsync" | "rclone" | "openssl");
    if call.input.marks.has(Marks::BULK) && !logs_in {
        return Err(refuse(REFUSE_EXFILTRATION));
    }
    let sent = call.args.windows(2).any(|two| {
        let (option, value) = (two[0].text.as_str(), &two[1]);
        let data = matches!(option, "-d" | "-F" | "-H" | "-A" | "-b" | "-e" | "-G" | "-u")
            || ["--data", "--form", "--header", "--user-agent", "--cookie", "--referer", "--json"]
                .iter()
                .any(|long| option.starts_with(long));
        data && value.marks.has(Marks::TELLING) && value.text.contains(HOLE)
    });
    if sent && matches!(call.program, "curl" | "wget" | "http" | "https" | "xh") {
        return Err(refuse(REFUSE_EXFILTRATION));
    }
    for arg in call.args {
        let text = arg.text.as_str();
        let logs_in = matches!(call.program, "ssh" | "scp" | "sftp" | "rsync" | "ping" | "rclone");
        if !logs_in
            && arg.marks.has(Marks::TELLING)
            && text.contains(HOLE)
            && text.trim_matches(HOLE).contains(['/', '.', '='])
        {
            return Err(refuse(REFUSE_EXFILTRATION));
        }
        let file = text.split_once('@').filter(|(before, _)| {
            before.is_empty() || before.ends_with('=') || matches!(*before, "-d" | "-F")
        });
        if let Some((_, file)) = file
            && !matches!(call.program, "ssh" | "scp" | "rsync" | "sftp")
            && (call.place(file).is_accounts() || call.place(file).is_system() || call.place(file).is_log())
        {
            return Err(refuse(REFUSE_EXFILTRATION));
        }
    }
    let uploads = match call.program {
        "curl" => call.value('T', "upload-file"),
        "wget" => call.args.iter().find_map(|arg| {
            arg.text.strip_prefix("--post-file=").or_else(|| arg.text.strip_prefix("--body-file="))
        }),
        "scp" | "rsync" | "rclone" => {
            let remote = call
                .operands()
                .next_back()
                .is_some_and(|arg| arg.text.contains(':') && !arg.text.starts_with('/'));
            let whole = call
                .operands()
                .rev()
                .skip(1)
                .any(|arg| arg.is_known() && !arg.text.contains(':') && call.place(&arg.text).is_vast());
            if remote && whole {
                return Err(refuse(REFUSE_EXFILTRATION));
            }
            None
        }
        _ => None,
    };
    match uploads {
        Some(file) if call.place(file).is_accounts() || call.place(file).is_system() => {
            Err(refuse(REFUSE_EXFILTRATION))
        }
        _ => Ok(()),
    }
}

/// Judges whether data is sent out in the names that a resolver is asked for.
fn resolves_data(call: &Call<'_>) -> Result<(), Finding> {
    if !is_listed("resolvers", call.program) {
        return Ok(());
    }
    let label = |arg: &&Arg| {
        arg.text.split_once(HOLE).is_some_and(|(_, rest)| {
            rest.strip_prefix('.')
                .is_some_and(|domain| domain.contains('.') && domain.contains(|c: char| c.is_alphabetic()))
        })
    };
    if let Some(arg) = call.args.iter().find(label) {
        let rule = if arg.marks.has(Marks::TELLING) { REFUSE_EXFILTRATION } else { REFUSE_UNDECIDABLE };
        return Err(refuse(rule));
    }
    Ok(())
}

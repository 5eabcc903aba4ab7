//! Who may do what: set-user-id bits, accounts, groups, and containers that hold the host.

use crate::Finding;

use super::super::finding::{REFUSE_PRIVILEGE, REFUSE_SYSTEM_PATH, refuse};
use super::super::known::{Trait, facts, is_listed};
use super::super::value::Text;
use super::Call;

pub(super) fn check(call: &Call<'_>) -> Result<(), Finding> {
    let texts = || call.args.iter().map(|arg| arg.text.as_str());
    let gains = match call.program {
        "chmod" => {
            let opens = call.flag('R', "recursive")
                && texts().any(|text| text == "777" || text == "000" || text == "a+rwx");
            if opens && call.operands().skip(1).any(|arg| call.place(&arg.text).is_vast()) {
                return Err(refuse(REFUSE_SYSTEM_PATH));
            }
            texts().any(sets_user)
        }
        "install" => call.value('m', "mode").is_some_and(sets_user),
        "setcap" => texts().any(|text| text.contains("+e") || text.contains("=e") || text.contains("+p")),
        "useradd" | "adduser" | "usermod" => {
            let root = matches!(call.value('u', "uid"), Some("0")) || call.flag('o', "non-unique");
            root || call
                .args
                .iter()
                .any(|arg| arg.text.split([',', '=']).any(|group| POWERFUL.contains(&group)))
        }
        "userdel" | "deluser" => texts().any(|text| text == "root"),
        "gpasswd" | "addgroup" => call.args.iter().any(|arg| POWERFUL.contains(&arg.text.as_str())),
        "chpasswd" | "newusers" => call.input.is_fed(),
        "passwd" => {
            let known = |text: &str| matches!(text, "root" | "-d" | "--delete" | "-u" | "--stdin");
            texts().any(known) || matches!(&call.input.text, Text::Known(_))
        }
        "visudo" => call.flag('f', "file") || call.input.is_fed(),
        "docker" | "podman" | "nerdctl" => holds_host(call) || reaches_control(call),
        "nsenter" => matches!(call.value('t', "target"), Some("1")),
        "kubectl" => {
            texts().any(|text| text.contains("cluster-admin") || text.contains("\"privileged\":true"))
        }
        "dscl" => texts().any(|text| text == "admin" || text == "UniqueID"),
        "capsh" => texts().any(|text| text.contains("--uid=0")),
        "insmod" => texts().any(|text| text.starts_with("/tmp") || text.starts_with("/dev/shm")),
        program => !only_names(program) && reaches_control(call),
    };
    if gains { Err(refuse(REFUSE_PRIVILEGE)) } else { Ok(()) }
}

/// `u+s`, `+s`, `4755` and their like.
fn sets_user(mode: &str) -> bool {
    if mode.bytes().all(|b| b.is_ascii_digit()) {
        // Four digits, or five with the zero of an octal number before them.
        let bits = if mode.len() == 5 { &mode[1..] } else { mode };
        return bits.len() == 4 && bits.starts_with(['4', '5', '6', '7']);
    }
    mode.split(',').any(|clause| {
        clause.split_once(['+', '=']).is_some_and(|(who, bits)| {
            bits.contains('s')
                && bits.bytes().all(|b| b"rwxXst".contains(&b))
                && (who.is_empty() || who.contains(['u', 'a']))
                && who.bytes().all(|b| b"ugoa".contains(&b))
        })
    })
}

/// Whether an argument names the socket of a service that gives whoever talks to it the rights of root.
fn reaches_control(call: &Call<'_>) -> bool {
    let names = |text: &str| {
        text.split(['=', ':', ',', ' ', '/', '"', '\'', ')']).any(|piece| is_listed("sockets", piece))
    };
    call.args.iter().any(|arg| names(&arg.text))
}

fn only_names(program: &str) -> bool {
    facts(program).is_some_and(|facts| facts.has(Trait::Looks) || facts.has(Trait::Texts))
        || matches!(program, "grep" | "rg")
}

/// A container with the host's files, namespaces or rights.
fn holds_host(call: &Call<'_>) -> bool {
    let texts: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    let running = texts.iter().any(|text| matches!(*text, "run" | "create" | "exec"));
    let volume = |text: &str| {
        let source = text.split(':').next().unwrap_or("");
        let place = call.place(source);
        text.contains(':')
            && (matches!(
                source,
                "/" | "/etc"
                    | "/root"
                    | "/var/run/docker.sock"
                    | "/run/docker.sock"
                    | "/proc"
                    | "/sys"
                    | "/boot"
                    | "/dev"
            ) || place.is_secret()
                || (place.is_vast() && !["/opt", "/srv", "/mnt", "/media"].contains(&place.as_str())))
    };
    running
        && texts.iter().enumerate().any(|(at, text)| {
            let value =
                text.strip_prefix("--volume=").or_else(|| text.strip_prefix("-v")).filter(|v| !v.is_empty());
            let next = texts.get(at + 1).copied().unwrap_or("");
            *text == "--privileged"
                || matches!(*text, "--pid=host" | "--cap-add=ALL" | "--cap-add=SYS_ADMIN")
                || (matches!(*text, "--pid" | "--userns") && next == "host")
                || text.strip_prefix("--device=").is_some_and(|device| call.place(device).is_device())
                || (*text == "--device" && call.place(next).is_device())
                || (*text == "--cap-add" && matches!(next, "ALL" | "SYS_ADMIN"))
                || (matches!(*text, "-v" | "--volume") && volume(next))
                || value.is_some_and(volume)
                || (text.contains("type=bind") && (text.contains("source=/,") || text.contains("src=/,")))
        })
}

/// Groups whose members are as good as root.
const POWERFUL: [&str; 8] = ["sudo", "wheel", "root", "admin", "shadow", "disk", "lxd", "adm"];

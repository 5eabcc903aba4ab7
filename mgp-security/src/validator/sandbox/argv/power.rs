//! The rules about stopping: the machine, its processes, its protections, and the records of what was done.

use crate::Finding;

use super::super::finding::{REFUSE_KILL, REFUSE_LOG, REFUSE_POWER, REFUSE_SECURITY, refuse};
use super::super::known::is_listed;
use super::super::value::Marks;
use super::Call;

pub(super) fn check(call: &Call<'_>) -> Result<(), Finding> {
    if stops_machine(call) {
        return Err(refuse(REFUSE_POWER));
    }
    if stops_all(call) {
        return Err(refuse(REFUSE_KILL));
    }
    if lowers_guard(call) {
        return Err(refuse(REFUSE_SECURITY));
    }
    if wipes_records(call) {
        return Err(refuse(REFUSE_LOG));
    }
    Ok(())
}

fn stops_machine(call: &Call<'_>) -> bool {
    match call.program {
        "shutdown" => {
            !(call.flag('c', "") && call.args.len() == 1
                || call.has("--help")
                || call.has("--show")
                || call.has("/a"))
        }
        "init" | "telinit" => matches!(call.verb(), "0" | "6" | "1" | "s" | "S"),
        "systemctl" | "loginctl" => {
            call.verb() == "isolate" && call.args.iter().any(|arg| is_listed("stop-targets", &arg.text))
        }
        "busctl" | "dbus-send" | "gdbus" => {
            call.args.iter().any(|arg| arg.text.contains("PowerOff") || arg.text.ends_with("Reboot"))
        }
        "osascript" => {
            call.args.iter().any(|arg| arg.text.contains("shut down") || arg.text.contains("restart"))
        }
        _ => false,
    }
}

fn stops_all(call: &Call<'_>) -> bool {
    match call.program {
        "kill" => {
            let mut numbers = call.args.iter().map(|arg| arg.text.as_str());
            if call.args.iter().any(|arg| arg.marks.has(Marks::EVERYTHING)) {
                return true;
            }
            let listing = call.has("-l") || call.has("-L");
            let all = call.args.iter().skip(1).any(|arg| arg.text == "-1")
                || (call.verb() == "1"
                    && !call.args.first().is_some_and(|arg| is_listed("harmless-signals", &arg.text)));
            !listing && (all || (call.args.len() == 1 && numbers.next() == Some("-1")))
        }
        "pkill" | "killall" | "skill" => {
            let root = call.value('u', "user").or_else(|| call.value('U', "uid"));
            let whole = matches!(root, Some("root" | "0"));
            let anything = call.program != "skill"
                && call
                    .operands()
                    .any(|arg| matches!(arg.text.as_str(), "." | ".*" | "" | "init" | "systemd" | "sshd"));
            whole || anything
        }
        _ => false,
    }
}

fn lowers_guard(call: &Call<'_>) -> bool {
    let any = |texts: &[&str]| call.args.iter().any(|arg| texts.contains(&arg.text.as_str()));
    match call.program {
        "iptables" | "ip6tables" | "iptables-legacy" | "iptables-nft" => {
            let opens = call.args.windows(3).any(|three| {
                matches!(three[0].text.as_str(), "-P" | "--policy") && three[2].text == "ACCEPT"
            });
            any(&["-F", "--flush", "-X"]) && call.value('t', "table").is_none_or(|table| table == "filter")
                || opens
        }
        "systemctl" | "service" | "rc-service" | "launchctl" => {
            any(&["stop", "disable", "mask", "kill", "unload"])
                && call.args.iter().any(|arg| {
                    let unit = arg.text.strip_suffix(".service").unwrap_or(&arg.text);
                    is_listed("guards", unit)
                })
        }
        "sysctl" => call.args.iter().any(|arg| {
            let Some((key, _)) = arg.text.split_once('=') else { return false };
            is_listed("guarding-keys", &key.replace('/', "."))
        }),
        _ => false,
    }
}

fn wipes_records(call: &Call<'_>) -> bool {
    match call.program {
        "journalctl" => call.args.iter().any(|arg| {
            arg.text
                .strip_prefix("--vacuum-")
                .is_some_and(|rest| rest.ends_with("=1s") || rest.ends_with("=0") || rest.ends_with("=1"))
        }),
        "truncate" | "ln" | "cp" | "shred" => {
            call.operands().any(|arg| call.place(&arg.text).is_log()) && {
                call.program != "cp" || call.operands().next().is_some_and(|arg| arg.text == "/dev/null")
            }
        }
        "dmesg" => {
            call.flag('C', "clear")
                && !call.args.iter().any(|arg| arg.text.starts_with("--c") && arg.text != "--clear")
        }
        "wevtutil" => matches!(call.verb(), "cl" | "clear-log"),
        _ => false,
    }
}

//! The rules about the network: data sent out, and the metadata service of the cloud.

use crate::Finding;
use crate::network::{host_of, is_metadata};

use super::super::{
    Arg, Danger, HOLE, Marks, Trait, holds_listed, is_known_as, is_listed, refuse, refuse_if,
};
use super::Call;

pub(super) fn check(call: &Call<'_>) -> Result<(), Finding> {
    refuse_if(is_known_as(call.program, Trait::Client) && carries_out(call), Danger::Exfiltration)?;
    resolves_data(call)
}

/// Returns whether `text` is a network device: `/dev/tcp/host/port`, or an address of awk.
pub(in super::super) fn is_network_device(text: &str) -> bool {
    holds_listed("network-devices", text)
}

/// Returns whether `text` names a metadata service. With `bare`, a host without a scheme counts as well.
pub(in super::super) fn address_of_metadata(text: &str, bare: bool) -> bool {
    let lower = text.to_ascii_lowercase();
    let rest = lower.split_once("://").map(|(_, rest)| rest).or_else(|| bare.then_some(lower.as_str()));
    let Some(rest) = rest else { return false };
    let host = host_of(rest.split(HOLE).next().unwrap_or("")).trim_end_matches('.');
    lower.contains("169.254.169.254") || is_listed("metadata-names", host) || is_metadata(host)
}

/// Returns whether a word of the command names this machine.
pub(in super::super) fn is_local_host(word: &str) -> bool {
    let host = host_of(word.split_once("://").map_or(word, |(_, rest)| rest));
    is_listed("local-hosts", host) || word.to_ascii_lowercase().contains(":localhost:")
}

/// Returns whether a word of the command names a machine outside this one and the local network.
fn is_remote_host(word: &str) -> bool {
    let host = word.split_once("://").map_or(word, |(_, rest)| rest);
    let host = host.split(['/', '?']).next().unwrap_or("").rsplit('@').next().unwrap_or("");
    let host = host
        .rsplit_once(':')
        .map_or(host, |(host, port)| if port.parse::<u16>().is_ok() { host } else { port });
    let named = host.split('.').filter(|part| !part.is_empty()).count() > 1;
    named && !is_local_host(word) && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-[]:".contains(&b))
}

/// Returns whether a client sends facts about this machine, its files or its secrets to another one.
fn carries_out(call: &Call<'_>) -> bool {
    // A program with a raw connection, or one that sends all of its input, sends the facts about this machine that are
    // in its input.
    let marks = call.input.marks;
    let raw = is_known_as(call.program, Trait::Raw);
    let all = call.args.iter().any(|arg| arg.text == "-" || arg.text.ends_with("@-"));
    let tells = marks.has(Marks::TELLING)
        && (raw || all && !marks.has(Marks::FILE) && !is_listed("own-clients", call.program))
        && call.args.iter().any(|arg| is_remote_host(&arg.text));
    let secret = |arg: &Arg| arg.marks.has(Marks::SENSITIVE);
    // People send archives and disks to their own machines with programs that log in.
    let bulk = marks.has(Marks::BULK) && !is_listed("logs-in", call.program);
    let sends_inserted = |arg: &Arg| arg.marks.has(Marks::TELLING) && arg.text.contains(HOLE);
    let data =
        call.args.windows(2).any(|two| is_listed("data-options", &two[0].text) && sends_inserted(&two[1]));
    tells
        || marks.has(Marks::SENSITIVE)
        || call.args.iter().any(secret)
        || bulk
        || data && is_listed("data-senders", call.program)
        || call.args.iter().any(|arg| {
            let text = arg.text.as_str();
            let inserted = sends_inserted(arg) && text.trim_matches(HOLE).contains(['/', '.', '=']);
            let file = text.split_once('@').filter(|(before, _)| {
                before.is_empty() || before.ends_with('=') || matches!(*before, "-d" | "-F")
            });
            inserted && !is_listed("inserts-own", call.program)
                || file.is_some_and(|(_, file)| {
                    let place = call.place(file);
                    !is_listed("names-users", call.program)
                        && (place.is_accounts() || place.is_system() || place.is_log())
                })
        })
}

/// Judges whether data is sent out in the names that a resolver is asked for.
fn resolves_data(call: &Call<'_>) -> Result<(), Finding> {
    let label = |arg: &&Arg| {
        arg.text.split_once(HOLE).is_some_and(|(_, rest)| {
            rest.strip_prefix('.')
                .is_some_and(|domain| domain.contains('.') && domain.contains(|c: char| c.is_alphabetic()))
        })
    };
    match call.args.iter().find(label).filter(|_| is_listed("resolvers", call.program)) {
        Some(arg) if arg.marks.has(Marks::TELLING) => Err(refuse(Danger::Exfiltration)),
        Some(_) => Err(refuse(Danger::Undecidable)),
        None => Ok(()),
    }
}

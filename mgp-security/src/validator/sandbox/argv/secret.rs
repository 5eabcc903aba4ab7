//! The rules about reading passwords, keys and tokens.

use crate::Finding;
use crate::shell::syntax::Body;

use super::super::finding::{
    REFUSE_DECISION, REFUSE_OBFUSCATION, REFUSE_REVERSE_SHELL, REFUSE_SECRET, REFUSE_UNDECIDABLE, refuse,
};
use super::super::known::{Facts, Kind, Reading, Trait};
use super::super::place::Place;
use super::super::value::{Arg, HOLE, Marks};
use super::{Call, Files, is_network_device, kernel};

/// Judges a redirection from `target`.
pub(in super::super) fn check_input(target: &Arg, files: &Files<'_>, body: &Body) -> Result<(), Finding> {
    if is_network_device(&target.text) {
        return Err(refuse(REFUSE_REVERSE_SHELL));
    }
    if kernel::is_own_file(&target.text) {
        return Err(refuse(REFUSE_DECISION));
    }
    let place = Place::new(&target.text, files.directory);
    if place.is_secret() || files.hides(&target.text) {
        return Err(refuse(REFUSE_SECRET));
    }
    // `cat` with a redirection is a disguise here; the usual way is `cat file`.
    let only_cat =
        matches!(body, Body::Simple(simple) if simple.words.len() == 1 && simple.source.starts_with("cat"));
    if only_cat && place.as_str().starts_with("/etc/") {
        return Err(refuse(REFUSE_OBFUSCATION));
    }
    Ok(())
}

pub(super) fn check(call: &Call<'_>, reading: Option<&Reading<'_>>) -> Result<(), Finding> {
    if prints_keys(call) {
        return Err(refuse(REFUSE_SECRET));
    }
    if call.program == "scp" && call.operands().count() < 2 {
        return Ok(());
    }
    let shows = reading.is_some_and(|reading| reading.program.has(Trait::Shows));
    let reads = reading.is_some_and(|reading| {
        let kinds = [reading.facts.first, reading.facts.every, reading.facts.last];
        kinds.contains(&Some(Kind::File))
            || reading.program.has(Trait::Client)
            || reading.facts.last == Some(Kind::Out)
    });
    for arg in candidates(call, reading) {
        if arg.marks.has(Marks::CRAFTED) && (arg.text.contains(HOLE) || arg.text.starts_with('/')) && shows {
            return Err(refuse(REFUSE_UNDECIDABLE));
        }
        if reads && arg.marks.has(Marks::SENSITIVE) && arg.text.contains(HOLE) {
            return Err(refuse(REFUSE_SECRET));
        }
        if is_key_option(call, &arg.text) {
            continue;
        }
        let hidden = |piece: &str| {
            call.place(piece).is_secret() || (!arg.marks.has(Marks::PATTERN) && call.files.hides(piece))
        };
        let named = pieces(&arg.text).any(hidden);
        if named || may_be_secret(arg, &call.place(path_in(&arg.text))) {
            return Err(refuse(REFUSE_SECRET));
        }
    }
    Ok(())
}

/// Returns the arguments whose files a program may show: all arguments of an unknown program, and for other programs
/// those that the table does not know as something else.
fn candidates<'a>(call: &Call<'a>, reading: Option<&'a Reading<'a>>) -> Vec<&'a Arg> {
    let Some(reading) = reading else { return call.args.iter().collect() };
    let looks = |facts: &Facts| facts.has(Trait::Looks) || facts.has(Trait::Texts);
    if looks(reading.facts) || looks(reading.program) && !reading.program.has(Trait::Shows) {
        return Vec::new();
    }
    let read = |kind: Option<Kind>| {
        matches!(kind, None | Some(Kind::File | Kind::Script | Kind::Library | Kind::Setting | Kind::Escapes))
    };
    let operands = reading.kinds().filter(|(_, kind)| read(*kind)).map(|(arg, _)| arg);
    let values = reading.given.iter().filter(|given| read(Some(given.kind))).map(|given| &given.value);
    let sent = reading.program.has(Trait::Client);
    // Data that is sent may be a file, `@file`, whatever the option is for.
    let sent = reading.given.iter().filter(move |given| sent && given.value.text.contains('@'));
    operands
        .chain(values)
        .chain(reading.others.iter().copied())
        .chain(sent.map(|given| &given.value))
        .collect()
}

/// Returns the parts of an argument that may be a path: the whole argument, and the parts after `=`, `:`, `@` or a
/// comma.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let short = text.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.len() > 1);
    let attached = short.and_then(|rest| rest.get(1..)).into_iter();
    let parts = text.split(['=', ':', '@', ',']).filter(|part| part.contains(['/', '.', '~']));
    std::iter::once(path_in(text)).chain(parts).chain(attached)
}

/// Returns whether a program is asked for the passwords of wireless networks. The other programs that show secrets are
/// in the table.
fn prints_keys(call: &Call<'_>) -> bool {
    call.program == "netsh"
        && call.args.iter().any(|arg| arg.text == "wlan")
        && call.args.iter().any(|arg| arg.text.eq_ignore_ascii_case("key=clear"))
}

/// Returns the path in `@file`, `file=@path`, `if=path` or `file://path`.
fn path_in(text: &str) -> &str {
    let text = text.strip_prefix("file://").unwrap_or(text);
    let text = text
        .split_once('@')
        .map_or(text, |(before, path)| if before.is_empty() || before.ends_with('=') { path } else { text });
    ["if=", "-T", "--upload-file=", "--post-file=", "--body-file=", "-d@", "-F"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text)
}

/// Returns whether the file is the value of an option that uses it without showing it: a key in the working directory,
/// as in `--ssl-keyfile key.pem`, or the key that a program logs in with.
fn is_key_option(call: &Call<'_>, text: &str) -> bool {
    let names_key = |option: &str| {
        let option = option.trim_start_matches('-').to_ascii_lowercase();
        ["key", "cert", "identity", "netrc", "env-file", "kubeconfig"]
            .iter()
            .any(|word| option.contains(word))
    };
    if let Some((option, value)) = text.split_once('=') {
        return option.starts_with('-') && names_key(option) && !value.starts_with(['/', '~', '.']);
    }
    let logs_in = matches!(call.program, "scp" | "rsync" | "sftp" | "curl" | "openssl");
    let short = |option: &str| matches!(option, "-i" | "-E" | "-e" | "-sign");
    call.args.windows(2).any(|two| {
        let option = two[0].text.as_str();
        two[1].text == text
            && option.starts_with('-')
            && (names_key(option) && (logs_in || !text.starts_with(['/', '~'])) || logs_in && short(option))
    })
}

/// Returns whether the argument is a pattern that matches a secret file.
fn may_be_secret(arg: &Arg, place: &Place) -> bool {
    const SHOWN: [&str; 6] = [
        "/etc/shadow", "/etc/gshadow", "~/.ssh/id_rsa", "~/.ssh/id_ed25519", "~/.aws/credentials",
        "/etc/sudoers",
    ];
    if !arg.marks.has(Marks::PATTERN) {
        return false;
    }
    let pattern = place.as_str();
    // A pattern that matches many other files as well does not indicate this one.
    let letters = |part: &str| part.chars().filter(char::is_ascii_alphabetic).count();
    let specific = pattern.rsplit('/').next().is_some_and(|name| name == "shadow" || letters(name) >= 2);
    (specific && pattern.starts_with(['/', '~']))
        && SHOWN.iter().any(|file| fits(pattern.as_bytes(), file.as_bytes()))
}

/// Returns whether the file pattern `pattern` matches `text`; brackets match any character.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        let here = pattern.get(at).copied();
        let width = match here {
            Some(b'[') => pattern[at..].iter().position(|&b| b == b']').map_or(1, |end| end + 1),
            _ => 1,
        };
        match here {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(b'?' | b'[') => {
                at += width;
                from += 1;
            }
            Some(byte) if byte == text[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((star_at, star_from)) = star else { return false };
                star = Some((star_at, star_from + 1));
                at = star_at + 1;
                from = star_from + 1;
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

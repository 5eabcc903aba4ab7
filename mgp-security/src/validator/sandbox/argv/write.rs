//! The rules about writing: to disks, to files of the system, and to files that run later.

use crate::Finding;

use super::super::finding::{
    REFUSE_DECISION, REFUSE_DEVICE, REFUSE_EXHAUSTION, REFUSE_LOG, REFUSE_REVERSE_SHELL, REFUSE_RUNS_LATER,
    REFUSE_SYSTEM_PATH, refuse,
};
use super::super::known::{Kind, Reading};
use super::super::value::{Arg, Marks, Text};
use super::{Call, Files, is_network_device, kernel};

/// Judges a redirection into `target`.
pub(in super::super) fn check_output(target: &Arg, files: &Files<'_>) -> Result<(), Finding> {
    if is_network_device(&target.text) {
        return Err(refuse(REFUSE_REVERSE_SHELL));
    }
    written(&target.text, files)
}

pub(super) fn check(call: &Call<'_>, reading: Option<&Reading<'_>>) -> Result<(), Finding> {
    match call.program {
        "dd" => return copy_blocks(call),
        "wipefs" | "blkdiscard" | "hdparm" | "sgdisk" | "badblocks" if rewrites(call) => {
            return Err(refuse(REFUSE_DEVICE));
        }
        "fdisk" | "sfdisk" | "parted" | "gdisk" | "cfdisk"
            if call.input.is_fed()
                || ["mklabel", "mktable", "-s", "--script", "rm"].iter().any(|word| call.has(word)) =>
        {
            return devices(call);
        }
        "crontab" => return schedule(call),
        "fallocate" | "truncate" if too_large(call) => return Err(refuse(REFUSE_EXHAUSTION)),
        "systemctl" if matches!(call.verb(), "link" | "edit") || enables_path(call) => {
            return Err(refuse(REFUSE_RUNS_LATER));
        }
        program
            if program == "mkfs"
                || program.starts_with("mkfs.")
                || matches!(program, "mke2fs" | "newfs" | "mkdosfs" | "mkntfs") =>
        {
            return devices(call);
        }
        _ => {}
    }
    for target in targets(call, reading) {
        if call.program == "tee" && call.input.marks.has(Marks::ENDLESS) && !target.starts_with("/dev/") {
            return Err(refuse(REFUSE_EXHAUSTION));
        }
        written(target, &call.files)?;
    }
    Ok(())
}

fn written(path: &str, files: &Files<'_>) -> Result<(), Finding> {
    let place = super::super::place::Place::new(path, files.directory);
    if kernel::is_own_file(path) {
        return Err(refuse(REFUSE_DECISION));
    }
    if place.is_device() {
        return Err(refuse(REFUSE_DEVICE));
    }
    if place.runs_later() {
        return Err(refuse(REFUSE_RUNS_LATER));
    }
    if place.shadows_program() {
        return Err(refuse(REFUSE_RUNS_LATER));
    }
    if place.is_trail() {
        return Err(refuse(REFUSE_LOG));
    }
    if place.is_system() {
        return Err(refuse(REFUSE_SYSTEM_PATH));
    }
    files.check_write(path)
}

/// Returns the arguments that `call` writes to.
fn targets<'a>(call: &Call<'a>, reading: Option<&'a Reading<'a>>) -> Vec<&'a str> {
    let all = || call.operands().map(|arg| arg.text.as_str()).collect::<Vec<_>>();
    let mut told = Vec::new();
    if let Some(reading) = reading {
        told.extend(reading.values(Kind::Out).chain(reading.values(Kind::Pipe)).map(|arg| arg.text.as_str()));
        let directory = reading.given.iter().any(|given| matches!(given.name, "-t" | "--target-directory"));
        let written = reading.kinds().filter(|(_, kind)| *kind == Some(Kind::Out) && !directory);
        told.extend(written.map(|(arg, _)| arg.text.as_str()));
    }
    told.extend(match call.program {
        "mv" | "chattr" | "ed" => all(),
        "touch" | "mkdir" => {
            all().into_iter().filter(|path| path.contains("cron") || path.contains("/.ssh")).collect()
        }
        "find" => call
            .args
            .windows(2)
            .filter(|two| matches!(two[0].text.as_str(), "-fprint" | "-fprintf" | "-fprint0" | "-fls"))
            .map(|two| two[1].text.as_str())
            .collect(),
        "sed" | "perl" if call.flag('i', "in-place") => all(),
        "chmod" | "chown" | "chgrp" | "setfacl" => permissions(call),
        "tar" | "gtar" | "bsdtar" | "unzip" if extracts(call) => {
            let directory =
                if call.program == "unzip" { call.value('d', "") } else { call.value('C', "directory") };
            let root = |path: &&str| {
                let place = call.place(path);
                let free = OPTIONAL.iter().any(|own| place.as_str().starts_with(own));
                place.is_vast() && place.is_system() && !free
            };
            directory.filter(root).into_iter().collect()
        }
        _ => Vec::new(),
    });
    // A remote target is not a file of this machine.
    let remote =
        |path: &&str| path.split_once(':').is_some_and(|(host, _)| host.len() > 1 && !host.contains('/'));
    told.into_iter().filter(|path| !remote(path)).collect()
}

fn extracts(call: &Call<'_>) -> bool {
    let bundled =
        call.args.first().is_some_and(|arg| !arg.text.contains(['/', '.']) && arg.text.contains('x'));
    call.program == "unzip" || bundled || call.flag('x', "extract")
}

/// The directories in which archives of programs and data are usually unpacked.
const OPTIONAL: [&str; 5] = ["/opt", "/srv", "/mnt", "/media", "/home"];

/// Returns the paths whose permissions change in a way that counts as writing: recursive changes of vast places or
/// files of the system, and single changes of files of the system, except for devices.
fn permissions<'a>(call: &Call<'a>) -> Vec<&'a str> {
    let recursive = call.flag('R', "recursive");
    // `-x` is a mode that looks like an option.
    let mode = call.args.iter().any(|arg| {
        arg.text
            .strip_prefix('-')
            .is_some_and(|bits| !bits.is_empty() && bits.bytes().all(|b| b"rwxXst".contains(&b)))
    });
    let skipped = usize::from(!(mode && call.program == "chmod"));
    let operands = call.operands().skip(skipped).map(|arg| arg.text.as_str());
    operands
        .filter(|path| {
            let place = call.place(path);
            if recursive {
                place.is_vast() || place.is_system()
            } else {
                place.is_system() && !place.as_str().starts_with("/dev")
            }
        })
        .map(|path| if recursive && call.place(path).is_vast() { "/" } else { path })
        .collect()
}

fn copy_blocks(call: &Call<'_>) -> Result<(), Finding> {
    let value = |key: &str| call.args.iter().find_map(|arg| arg.text.strip_prefix(key));
    if let Some(target) = value("of=") {
        written(target, &call.files)?;
    }
    let endless =
        value("if=").is_some_and(|source| matches!(source, "/dev/zero" | "/dev/urandom" | "/dev/random"));
    let stored = value("of=").is_some_and(|target| !target.starts_with("/dev/"));
    if endless && stored && value("count=").is_none() {
        return Err(refuse(REFUSE_EXHAUSTION));
    }
    Ok(())
}

fn rewrites(call: &Call<'_>) -> bool {
    match call.program {
        "wipefs" => call.flag('a', "all") || call.flag('o', "offset"),
        "hdparm" => {
            call.args.iter().any(|arg| arg.text.starts_with("--security") || arg.text.starts_with("--trim"))
        }
        "sgdisk" => call.flag('Z', "zap-all") || call.flag('z', "zap") || call.flag('o', "clear"),
        "badblocks" => call.flag('w', ""),
        _ => true,
    }
}

fn devices(call: &Call<'_>) -> Result<(), Finding> {
    let device = call.operands().any(|arg| call.place(&arg.text).is_device());
    if device { Err(refuse(REFUSE_DEVICE)) } else { Ok(()) }
}

fn schedule(call: &Call<'_>) -> Result<(), Finding> {
    let shows = call.flag('l', "") || call.has("--help") || call.has("-V");
    let edits = call.flag('e', "") && !call.input.is_fed();
    if shows || edits || (call.args.is_empty() && call.input.text == Text::Absent) {
        Ok(())
    } else {
        Err(refuse(REFUSE_RUNS_LATER))
    }
}

fn enables_path(call: &Call<'_>) -> bool {
    matches!(call.verb(), "enable" | "start")
        && call.operands().skip(1).any(|arg| arg.text.starts_with("/tmp"))
}

fn too_large(call: &Call<'_>) -> bool {
    let size = call.value('l', "length").or_else(|| call.value('s', "size")).unwrap_or("");
    size.ends_with(['T', 'P', 'E']) || size.strip_suffix('G').is_some_and(|n| n.len() > 2)
}

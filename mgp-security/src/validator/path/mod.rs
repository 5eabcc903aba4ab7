//! Where in the file system a call may reach.
//!
//! The text of a path is refused if it leads out of any directory, in every spelling that some program on the way may
//! decode. [`Roots`] knows the directories that are open, and asks the system where a path really ends. [`ProtectedPaths`]
//! knows the files that no call may touch.

mod argument;
mod encoding;
mod protected;
mod roots;
mod segments;
mod shape;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::Finding;
use crate::validator::text;

pub(crate) use argument::{PathLikeness, access, likeness};
pub(crate) use encoding::decode;
pub use protected::{PathAccess, ProtectedPaths};
pub(crate) use protected::{ProtectedKind, ProtectedReason};
pub use roots::Roots;
use segments::PathSpelling;

/// Decides on a path by its text: relative, below the directory it is resolved in, whoever decodes it, and not
/// [protected](ProtectedPaths).
pub(crate) fn check_text(path: &str) -> Result<(), Finding> {
    check(path, AbsolutePaths::Refused)?;
    // What is done with the file is not known, so it may be changed.
    ProtectedPaths::default().check(path, PathAccess::Write)
}

/// Whether a path may begin at the root of the file system; then it is for the [`Roots`] to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AbsolutePaths {
    Refused,
    Decided,
}

fn check(path: &str, absolute: AbsolutePaths) -> Result<(), Finding> {
    if path.len() > MAX_BYTES || path.split('/').any(|segment| segment.len() > MAX_SEGMENT_BYTES) {
        return Err(Finding::new(
            "path-too-long",
            "the path, or a name in it, is longer than file systems allow",
        ));
    }
    text::check(path)?;
    shape::check_variables(path)?;
    let mut form = Cow::Borrowed(path);
    // What is refused in one layer of encoding is refused in all: whether a program on the way decodes the path
    // is not for the path to say. Only a root that is written plainly is seen by `Roots`.
    let inside = if path.starts_with('/') { absolute } else { AbsolutePaths::Refused };
    let mut absolute = absolute;
    for layer in 0..MAX_LAYERS {
        let plain = layer == 0 && !path.chars().any(|sign| sign != '/' && segments::is_separator(sign));
        check_form(&form, absolute, if plain { PathSpelling::Plain } else { PathSpelling::Other })?;
        match encoding::decode(&form)? {
            Some(decoded) => form = Cow::Owned(decoded),
            None => return Ok(()),
        }
        absolute = inside;
    }
    Err(encoding::refused())
}

/// Decides on the path in one layer of its encoding.
fn check_form(form: &str, absolute: AbsolutePaths, spelling: PathSpelling) -> Result<(), Finding> {
    if form.contains(|character: char| character.is_ascii_control()) {
        return Err(Finding::new("control-character", "the path contains a control character: leave it out"));
    }
    text::check(form)?;
    let folded = text::fold(form);
    let spelling = if folded == form { spelling } else { PathSpelling::Other };
    segments::check(&folded, spelling)?;
    shape::check(form, absolute)
}

/// As long as Linux takes a path.
const MAX_BYTES: usize = 4095;

/// As long as the usual file systems take a name.
const MAX_SEGMENT_BYTES: usize = 255;

/// How often a path can be encoded before nobody decodes it any more.
const MAX_LAYERS: usize = 6;

/// Folders at the root of file systems.
pub(crate) const ROOT_FOLDERS: &[&str] = &[
    "etc", "proc", "sys", "dev", "root", "home", "Users", "var", "usr", "tmp", "private", "boot", "run",
    "mnt", "media", "opt", "srv", "bin", "sbin", "lib", "Library", "System", "Volumes", "Windows",
];

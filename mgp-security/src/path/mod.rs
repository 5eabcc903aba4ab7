//! Checks of the paths that a call may reach in the file system.
//!
//! The text of a path is refused if it leads out of any directory, in every spelling that some program on the way may
//! decode. [`Roots`] holds the open directories, and asks the operating system where a path really ends.
//! [`ProtectedPaths`] holds the files that no call may touch.

mod protected;
mod roots;
mod shape;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::{Finding, text};

pub(crate) use protected::ProtectedKind;
#[cfg(feature = "code-safety")]
pub(crate) use protected::ProtectedReason;
pub use protected::{PathAccess, ProtectedPaths};
pub(crate) use roots::{CallFolders, UNASKED, declared_roots};
pub use roots::{Roots, usable_folder};
pub(crate) use shape::decode;

/// Returns whether the text is a `file:` URI.
pub(crate) fn is_file_address(text: &str) -> bool {
    text.trim().get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// Checks the text of a path: it must be relative, must stay below the directory it is resolved in, whichever program
/// decodes it, and must not be [protected](ProtectedPaths).
pub(crate) fn check_text(path: &str) -> Result<(), Finding> {
    check(path, false)?;
    // The use of the file is not known, so it may be changed.
    ProtectedPaths::default().check(path, PathAccess::Write)
}

/// Checks the text of a path, which may begin at the root of the file system if `takes_absolute`: then [`Roots`] decide.
fn check(path: &str, takes_absolute: bool) -> Result<(), Finding> {
    let is_long = path.len() > MAX_BYTES || path.split('/').any(|segment| segment.len() > MAX_SEGMENT_BYTES);
    refuse_if(is_long, TOO_LONG)?;
    text::check(path)?;
    shape::check_shapes("written", path)?;
    let mut form = Cow::Borrowed(path);
    // A path that is refused in one layer of encoding is refused in all, because it is not known which programs on the
    // way decode it. `Roots` only sees a root that is written plainly.
    let inside = takes_absolute && path.starts_with('/');
    let mut takes_absolute = takes_absolute;
    for layer in 0..MAX_LAYERS {
        let is_plain = layer == 0 && !path.chars().any(|sign| sign != '/' && shape::is_separator(sign));
        check_form(&form, takes_absolute, is_plain)?;
        let Some(decoded) = shape::decode(&form)? else { return Ok(()) };
        form = Cow::Owned(decoded);
        takes_absolute = inside;
    }
    Err(shape::refused())
}

/// Checks the path in one layer of its encoding.
fn check_form(form: &str, takes_absolute: bool, is_plain: bool) -> Result<(), Finding> {
    refuse_if(form.contains(|character: char| character.is_ascii_control()), CONTROL)?;
    text::check(form)?;
    let folded = text::fold(form);
    shape::check_segments(&folded, is_plain && folded == form)?;
    shape::check(form, takes_absolute)
}

/// The class of a refusal, and the advice that its finding gives.
type Refusal = (&'static str, &'static str);

const TOO_LONG: Refusal = ("path-too-long", "the path, or a name in it, is longer than file systems allow");
const CONTROL: Refusal = ("control-character", "the path contains a control character: leave it out");

fn refuse_if(condition: bool, (class, advice): Refusal) -> Result<(), Finding> {
    if condition { Err(Finding::new(class, advice)) } else { Ok(()) }
}

/// The largest length of a path in bytes, which is the limit of Linux.
const MAX_BYTES: usize = 4095;

/// The largest length of a name in a path in bytes, which is the limit of the usual file systems.
const MAX_SEGMENT_BYTES: usize = 255;

/// The largest number of layers of encoding. Programs do not decode a path more often; a path with more is refused.
const MAX_LAYERS: usize = 6;

/// The names of folders at the root of file systems.
pub(crate) const ROOT_FOLDERS: &[&str] = &[
    "etc", "proc", "sys", "dev", "root", "home", "Users", "var", "usr", "tmp", "private", "boot", "run",
    "mnt", "media", "opt", "srv", "bin", "sbin", "lib", "Library", "System", "Volumes", "Windows",
];

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// The name that a tool or prompt of a server is shown by: `server.name`, at most 64 characters of `A-Za-z0-9_.-`.
///
/// It depends on the two names only, never on what else there is or on what came first. A name that cannot stand as
/// it is (too long, other characters, a dot that would move the border between the two) is made to fit and ends in a
/// digest of both; a name that looks as if it had been made to fit is treated the same, so that no server can choose
/// the name of another one's tool.
///
/// ```
/// use mgp_discovery::catalog::shown_name;
///
/// assert_eq!(shown_name("mind.cerebras", "think"), "mind.cerebras.think");
/// assert_eq!(shown_name("mind", "cerebras.think"), "mind.cerebras_think_6e99cfd63d");
/// ```
pub fn shown_name(server: &str, name: &str) -> String {
    let length = server.len() + 1 + name.len();
    if length <= LONGEST && stands(server) && stands(name) && !name.contains('.') && !looks_altered(name) {
        return format!("{server}.{name}");
    }
    let digest = digest(server, name);
    let server = fit(server);
    let name = fit(name).replace('.', "_");
    let room = LONGEST - 2 - DIGEST;
    let for_name = name.len().min(room - server.len().min(room / 2));
    let for_server = server.len().min(room - for_name);
    format!("{}.{}_{}", &server[..for_server], &name[..for_name], digest)
}

/// Whether a name begins as those of the kernel's own tools do.
pub(super) fn is_reserved(name: &str) -> bool {
    name.strip_prefix("mgp").is_some_and(|rest| rest.starts_with(['.', '/', '_']))
}

/// Whether a server may be called this, as far as its letters go.
pub(crate) fn is_written_as_id(id: &str) -> bool {
    id.len() <= LONGEST_ID && stands(id)
}

/// Returns whether a server of this id, or its tools, could be taken for the kernel and its own, whatever the case of the
/// letters and with letters that look alike.
pub(crate) fn is_reserved_server(id: &str) -> bool {
    let folded = look_alikes_undone(&fit(id));
    OWN_NAMES.iter().any(|own| {
        let rest = folded.strip_prefix(&look_alikes_undone(own));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
    })
}

/// The name in lower case, with one letter for those that look alike.
fn look_alikes_undone(name: &str) -> String {
    let one = |letter: char| match letter {
        '0' => 'o',
        '1' | 'i' => 'l',
        other => other,
    };
    name.to_lowercase().chars().map(one).collect::<String>().replace("rn", "m")
}

/// The names of the kernel: of itself, and of the methods that it has for operators.
const OWN_NAMES: [&str; 2] = ["mgp", "kernel"];

/// What else a tool or prompt answers to, where nothing else does.
///
/// None of these is the shown name of something that may come later, apart from names that differ in nothing but dots and
/// underscores: a server must not get the calls for another one that is away.
pub(super) fn other_forms(server: &str, name: &str, shown: &str) -> Vec<String> {
    let mut forms = Vec::with_capacity(5);
    let is_bare = !name.contains(['.', '/']) && !name.contains("__");
    if is_bare {
        forms.push(name.to_owned());
        forms.push(format!("{server}__{name}"));
    }
    if !name.contains('.') {
        forms.push(format!("{server}.{name}"));
    }
    forms.push(format!("{server}/{name}"));
    forms.push(shown.replace('.', "_"));
    forms
        .retain(|form| !form.is_empty() && form != shown && form.len() <= LONGEST_FORM && !is_reserved(form));
    forms
}

fn stands(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(is_allowed)
}

const fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

fn looks_altered(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once('_') else { return false };
    end.len() == DIGEST && end.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The text with `_` for each character that no name has.
fn fit(part: &str) -> Cow<'_, str> {
    if part.bytes().all(is_allowed) {
        return Cow::Borrowed(part);
    }
    let allowed = |letter: char| if letter.is_ascii() && is_allowed(letter as u8) { letter } else { '_' };
    Cow::Owned(part.chars().map(allowed).collect())
}

fn digest(server: &str, name: &str) -> String {
    let mut hash = Sha256::new();
    hash.update((server.len() as u64).to_le_bytes());
    hash.update(server);
    hash.update(name);
    let bits =
        hash.finalize().iter().take(DIGEST / 2).fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
    format!("{bits:0DIGEST$x}")
}

/// What models and clients take at the most.
const LONGEST: usize = 64;
/// The longest id that a server can have.
pub(crate) const LONGEST_ID: usize = 64;
/// Of what is accepted, more is never shown.
const LONGEST_FORM: usize = 256;
const DIGEST: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_kernels_own_are_reserved_in_any_spelling() {
        for id in [
            "mgp",
            "Mgp",
            "MGP",
            "MGP.x",
            "mgp_x",
            "rngp",
            "mGp.tools",
            "kernel",
            "Kernel",
            "KERNEL",
            "kerne1",
            "kernel.audit",
            "keRnel_x",
        ] {
            assert!(is_reserved_server(id), "{id}");
        }
        for id in ["mgp-2", "mgpx", "my.mgp", "kernels", "kernel-docs", "linux-kernel", "files", "kern"] {
            assert!(!is_reserved_server(id), "{id}");
        }
    }
}

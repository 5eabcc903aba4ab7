//! Names of tools and prompts, and reserved names.

use std::sync::Arc;

use mgp_types::mgp::{NameStyle, name_digest};

/// The names that a tool or prompt of a server answers to.
#[derive(Debug)]
pub(super) struct CatalogNames {
    /// The name in the style of people and of peers that speak MGP.
    pub(super) dots: Arc<str>,
    /// The name in the style that every client takes.
    pub(super) underscores: Arc<str>,
    /// The digest in which every shortened name ends.
    pub(super) digest: Box<str>,
    /// Further names that the tool answers to, unless they belong to another.
    pub(super) others: Box<[Arc<str>]>,
}

impl CatalogNames {
    pub(super) fn new(server: &str, name: &str) -> Self {
        let dots = NameStyle::DOTS.write(server, name);
        let underscores = NameStyle::UNDERSCORES.write(server, name);
        let others = other_forms(server, name, &dots).into_iter().filter(|form| *form != underscores);
        Self {
            others: others.map(Arc::from).collect(),
            dots: dots.into(),
            underscores: underscores.into(),
            digest: name_digest(server, name).into(),
        }
    }
}

/// Returns whether a name begins like the names of the kernel's own tools.
pub(super) fn is_reserved(name: &str) -> bool {
    name.strip_prefix("mgp").is_some_and(|rest| rest.starts_with(['.', '/', '_']))
}

/// The length of the longest server id, in characters.
pub(crate) const LONGEST_ID: usize = 64;

/// Returns whether a server may have this id, as far as its characters go.
pub(crate) fn is_written_as_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= LONGEST_ID && id.chars().all(is_allowed)
}

/// The names of the kernel: its own name, and the namespace of its methods for operators.
const OWN_NAMES: [&str; 2] = ["mgp", "kernel"];

/// Returns whether a server of this id, or its tools, could be taken for the kernel and its own, whatever the case of
/// the letters and with letters that look alike.
pub(crate) fn is_reserved_server(id: &str) -> bool {
    let fit = |letter: char| if is_allowed(letter) { letter } else { '_' };
    let folded = look_alikes_undone(&id.chars().map(fit).collect::<String>());
    OWN_NAMES.iter().any(|own| {
        let rest = folded.strip_prefix(&look_alikes_undone(own));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
    })
}

/// Returns the name in lower case, with one letter for those that look alike.
fn look_alikes_undone(name: &str) -> String {
    let one = |letter: char| match letter {
        '0' => 'o',
        '1' | 'i' => 'l',
        other => other,
    };
    name.to_lowercase().chars().map(one).collect::<String>().replace("rn", "m")
}

/// The length of the longest further name, in bytes; no longer name is ever shown.
const LONGEST_FORM: usize = 256;

/// Returns further names that a tool or prompt answers to, unless they belong to another.
///
/// None of these can become the shown name of a tool that comes later, apart from names that differ only in dots and
/// underscores: a server must not get the calls for another server that is away.
pub(super) fn other_forms(server: &str, name: &str, shown: &str) -> Vec<String> {
    let has_border = |name: &str| name.contains("__");
    let mut forms = Vec::with_capacity(4);
    if !name.contains(['.', '/']) && !has_border(name) {
        forms.push(name.to_owned());
    }
    if !name.contains('.') {
        forms.push(format!("{server}.{name}"));
    }
    forms.push(format!("{server}/{name}"));
    forms.extend(Some(shown.replace('.', "_")).filter(|form| !has_border(form)));
    forms
        .retain(|form| !form.is_empty() && form != shown && form.len() <= LONGEST_FORM && !is_reserved(form));
    forms
}

const fn is_allowed(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_kernels_own_are_reserved_in_any_spelling() {
        for id in [
            "mgp", "Mgp", "MGP", "MGP.x", "mgp_x", "rngp", "mGp.tools", "kernel", "Kernel", "KERNEL",
            "kerne1", "kernel.audit", "keRnel_x",
        ] {
            assert!(is_reserved_server(id), "{id}");
        }
        for id in ["mgp-2", "mgpx", "my.mgp", "kernels", "kernel-docs", "linux-kernel", "files", "kern"] {
            assert!(!is_reserved_server(id), "{id}");
        }
    }
}

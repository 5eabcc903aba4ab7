//! Names of tools and prompts, reserved names, and look-ups by name.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::{NameStyle, digest_in_name, name_digest};

use crate::nearest::{distance, letters};

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
        let (others, digest) = (others.map(Arc::from).collect(), name_digest(server, name).into());
        Self { dots: dots.into(), underscores: underscores.into(), digest, others }
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

/// Finds the item of a list that a name stands for.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    /// The items by their names; `None` by a name that several have, and that none is shown by.
    names: HashMap<Arc<str>, Option<u32>, RandomState>,
    /// The items by their digest, for names that were shortened: their length depends on the client, their end does
    /// not.
    digests: HashMap<Box<str>, u32, RandomState>,
}

impl Lookup {
    /// Creates the look-up. Of two items that are shown by one name, the first has that name.
    pub(super) fn of<N>(listed: &[Arc<N>], of: impl Fn(&N) -> &CatalogNames) -> Self {
        let map = |names| HashMap::with_capacity_and_hasher(listed.len() * names, RandomState::default());
        let (mut names, mut shown) = (map(5), map(2));
        let mut digests = HashMap::with_capacity_and_hasher(listed.len(), RandomState::default());
        for (place, entry) in (0..).zip(listed) {
            let entry = of(entry);
            for name in [&entry.dots, &entry.underscores] {
                shown.entry(Arc::clone(name)).or_insert(Some(place));
            }
            for form in &entry.others {
                let only = names.entry(Arc::clone(form)).or_insert(Some(place));
                *only = only.filter(|other| *other == place);
            }
            digests.entry(entry.digest.clone()).or_insert(place);
        }
        names.extend(shown);
        Self { names, digests }
    }

    pub(super) fn place(&self, name: &str) -> Option<usize> {
        let place = match self.names.get(name) {
            Some(place) => *place,
            None => self.digests.get(digest_in_name(name)?).copied(),
        };
        place.map(|place| place as usize)
    }
}

/// The number of names that are suggested.
const MAX_NEAREST: usize = 3;

/// Returns the names that are spelled nearly like `name`, the nearest first; no more than [`MAX_NEAREST`].
pub(super) fn near<'a, T>(
    name: &str,
    known: impl Iterator<Item = (&'a str, &'a str, T)>,
    may_see: impl Fn(T) -> bool,
) -> Vec<&'a str> {
    let wanted = letters(name);
    let most = (wanted.len() / 3).clamp(1, 8);
    let near = |(shown, bare, entry): (&'a str, &'a str, T)| {
        let distance = distance(&wanted, &letters(shown), most).min(distance(&wanted, &letters(bare), most));
        (distance <= most && may_see(entry)).then_some((distance, shown))
    };
    let mut nearest: Vec<(usize, &str)> = known.filter_map(near).collect();
    nearest.sort_unstable();
    nearest.into_iter().take(MAX_NEAREST).map(|(_, shown)| shown).collect()
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

    fn found(name: &str) -> Vec<&'static str> {
        let known = [("files.read_file", "read_file"), ("files.read_dir", "read_dir"), ("clock.now", "now")];
        near(name, known.into_iter().map(|(shown, bare)| (shown, bare, shown)), |shown| shown != "clock.now")
    }

    #[test]
    fn slips_are_found_and_the_nearest_comes_first() {
        assert_eq!(found("file.read_file")[0], "files.read_file");
        assert_eq!(found("Read-File")[0], "files.read_file");
        assert_eq!(found("read_di")[0], "files.read_dir");
        assert!(found("send_mail").is_empty() && found("").is_empty());
    }

    #[test]
    fn what_may_not_be_seen_is_not_told() {
        assert!(found("clock.no").is_empty());
    }

    #[test]
    fn names_of_any_length_are_compared() {
        assert!(found(&"x".repeat(100_000)).is_empty());
    }
}

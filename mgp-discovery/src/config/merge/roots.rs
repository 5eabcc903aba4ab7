//! Which directories a folder's file may name for the arguments of calls.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Merge, Reason, root};

impl Merge<'_> {
    /// Takes roots that lie within the user's, or, where the user names none, within the folder.
    pub(super) fn roots(&mut self, wanted: &[String]) {
        let folder = self.source.file().parent().unwrap_or_else(|| Path::new("."));
        let real = |root: &String| fs::canonicalize(folder.join(root)).ok();
        let users = &self.merged.config.validators.roots;
        let bounds: Vec<PathBuf> = if users.is_empty() {
            fs::canonicalize(folder).into_iter().collect()
        } else {
            users.iter().filter_map(|root| fs::canonicalize(root).ok()).collect()
        };
        let is_within = |root: &PathBuf| bounds.iter().any(|bound| root.starts_with(bound));
        let mut roots = Vec::new();
        for (index, named) in wanted.iter().enumerate() {
            let place = root().key("validators").key("roots").index(index);
            match real(named).filter(is_within).and_then(|root| root.into_os_string().into_string().ok()) {
                Some(root) => {
                    roots.push(root);
                    self.merged.applied.push(place);
                }
                None => self.merged.ignored.push((place, Reason::Looser)),
            }
        }
        if !roots.is_empty() {
            self.merged.config.validators.roots = roots;
        }
    }
}

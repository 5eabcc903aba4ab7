use std::collections::HashSet;

/// Names of modules, each standing for everything below it as well: `os` for `os.path`, `fs` for `fs/promises`.
#[derive(Debug, Clone, Default)]
pub(super) struct ModuleList {
    names: Vec<Box<str>>,
    index: HashSet<Box<str>>,
}

impl ModuleList {
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let names: Vec<Box<str>> = names.map(|name| plain(name).into()).collect();
        Self { index: names.iter().cloned().collect(), names }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// Whether `module` is one of the names or lies below one.
    pub(super) fn has(&self, module: &str) -> bool {
        let module = plain(module);
        let ends = module.match_indices(['.', '/']).map(|(at, _)| at).chain([module.len()]);
        ends.into_iter().any(|end| self.index.contains(&module[..end]))
    }
}

/// Node spells its own modules with and without a scheme.
fn plain(module: &str) -> &str {
    module.trim().trim_start_matches("node:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_what_is_below_it_and_not_for_longer_names() {
        let list = ModuleList::new(["code", "fs", "@scope/kit", "urllib.request"].into_iter());
        for module in ["code", "code.interact", "node:fs", "fs/promises", "@scope/kit/x.js", "urllib.request"]
        {
            assert!(list.has(module), "{module}");
        }
        for module in ["codecs", "encode", "@scope/other", "urllib", "urllib.parse", ""] {
            assert!(!list.has(module), "{module}");
        }
    }
}

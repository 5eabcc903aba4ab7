//! Which file of a crate names what of which other one.

use std::collections::{BTreeMap, BTreeSet};

use super::Arrows;
use super::syntax::{Named, children, code, has_word, paths, uses};

/// The files of a crate by the modules that they are.
pub(super) struct Crate {
    modules: BTreeMap<Vec<String>, Module>,
}

struct Module {
    file: String,
    uses: Vec<Named>,
    /// The code without what is used.
    code: String,
}

impl Crate {
    /// Reads the files that the library is compiled of, by their places below `src`.
    pub(super) fn new(sources: &BTreeMap<String, String>) -> Self {
        let mut modules = BTreeMap::new();
        let root = ["lib.rs", "main.rs"].into_iter().find(|root| sources.contains_key(*root));
        if let Some(root) = root {
            read(sources, root.to_owned(), Vec::new(), &mut modules);
        }
        Self { modules }
    }

    /// Returns each file with its code, without tests and what it imports.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.modules.values().map(|module| (module.file.as_str(), module.code.as_str()))
    }

    /// Returns for each file those that define what it names.
    pub(super) fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (place, module) in &self.modules {
            let named = self.named(place, module);
            arrows
                .insert(module.file.clone(), named.into_iter().filter(|file| *file != module.file).collect());
        }
        arrows
    }

    fn named(&self, place: &[String], module: &Module) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        let mut aliases: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for Named { path, alias, is_public } in &module.uses {
            let Some(absolute) = self.absolute(place, path) else { continue };
            let alias = alias.as_deref().unwrap_or_default();
            if self.modules.contains_key(&absolute) {
                aliases.insert(alias, absolute);
            } else if !*is_public || has_word(&module.code, alias) {
                files.extend(self.file_of(&absolute, MAX_STEPS));
            }
        }
        for path in paths(&module.code) {
            let absolute = match aliases.get(path[0].as_str()) {
                Some(module) => Some(module.iter().chain(&path[1..]).cloned().collect()),
                None => self.absolute(place, &path),
            };
            files.extend(absolute.and_then(|absolute| self.file_of(&absolute, MAX_STEPS)));
        }
        files
    }

    /// Returns the path from the root of the crate, if that is where it leads.
    fn absolute(&self, place: &[String], path: &[String]) -> Option<Vec<String>> {
        let mut from = place.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => from.clear(),
            "self" => {}
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    from.pop();
                    rest = &rest[1..];
                }
                from.extend(rest.iter().cloned());
                return Some(from);
            }
            child => {
                from.push(child.to_owned());
                return self.modules.contains_key(&from).then(|| {
                    from.extend(rest[1..].iter().cloned());
                    from
                });
            }
        }
        from.extend(rest[1..].iter().cloned());
        Some(from)
    }

    /// Returns the file that defines what the path leads to, past all that hand it on.
    fn file_of(&self, path: &[String], steps: usize) -> Option<String> {
        let depth = (0..=path.len()).rev().find(|depth| self.modules.contains_key(&path[..*depth]))?;
        let (place, rest) = path.split_at(depth);
        let module = &self.modules[place];
        let Some((name, after)) = rest.split_first() else { return Some(module.file.clone()) };
        let handed_on = module.uses.iter().find(|used| used.alias.as_deref() == Some(name));
        if let Some(used) = handed_on.filter(|_| steps > 0) {
            // A definition of another crate belongs to no file of this one.
            let mut absolute = self.absolute(place, &used.path)?;
            absolute.extend(after.iter().cloned());
            return self.file_of(&absolute, steps - 1);
        }
        if !defines(&module.code, name) {
            let globs = module.uses.iter().filter(|used| used.alias.as_deref() == Some("*"));
            for glob in globs.filter(|_| steps > 0) {
                let mut absolute = self.absolute(place, &glob.path[..glob.path.len() - 1])?;
                absolute.extend(rest.iter().cloned());
                if self
                    .modules
                    .get(&absolute[..absolute.len() - rest.len()])
                    .is_some_and(|of| defines(&of.code, name))
                {
                    return self.file_of(&absolute, steps - 1);
                }
            }
        }
        Some(module.file.clone())
    }
}

fn defines(code: &str, name: &str) -> bool {
    let kinds = ["fn", "struct", "enum", "trait", "const", "static", "type", "union", "mod", "macro_rules!"];
    kinds.iter().any(|kind| has_word(code, &format!("{kind} {name}")))
}

fn read(
    sources: &BTreeMap<String, String>,
    file: String,
    place: Vec<String>,
    modules: &mut BTreeMap<Vec<String>, Module>,
) {
    let Some(text) = sources.get(&file) else { return };
    let (children, text) = children(&code(text));
    let is_root = place.is_empty();
    let folder = match file.strip_suffix("mod.rs") {
        Some(folder) => folder.to_owned(),
        None if is_root => String::new(),
        None => format!("{}/", file.trim_end_matches(".rs")),
    };
    for child in children {
        let as_file = format!("{folder}{child}.rs");
        let as_folder = format!("{folder}{child}/mod.rs");
        let mut place = place.clone();
        place.push(child);
        let file = if sources.contains_key(&as_file) { as_file } else { as_folder };
        read(sources, file, place, modules);
    }
    let (uses, code) = uses(&text);
    modules.insert(place, Module { file, uses, code });
}

/// How often a name may be handed on.
const MAX_STEPS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let sources = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let arrows = Crate::new(&sources).arrows();
        arrows
            .into_iter()
            .flat_map(|(file, named)| named.into_iter().map(move |other| format!("{file} -> {other}")))
            .collect()
    }

    #[test]
    fn an_arrow_leads_past_what_hands_a_name_on() {
        let found = arrows(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a/mod.rs", "mod inner;\npub(crate) use self::inner::Thing;\n"),
            ("a/inner.rs", "pub(crate) struct Thing;\n"),
            ("b.rs", "use crate::a::Thing;\nuse other::Thing as Theirs;\n"),
        ]);
        assert_eq!(found, ["b.rs -> a/inner.rs"]);
    }

    #[test]
    fn a_module_that_is_used_is_looked_into() {
        let found = arrows(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a/mod.rs", "mod inner;\npub(crate) use self::inner::make;\nfn f() { inner::make() }\n"),
            ("a/inner.rs", "pub(crate) fn make() {}\n"),
            ("b.rs", "use crate::a;\nfn f() { a::make(); super::a::f(); }\n"),
        ]);
        assert_eq!(found, ["a/mod.rs -> a/inner.rs", "b.rs -> a/inner.rs", "b.rs -> a/mod.rs"]);
    }

    #[test]
    fn tests_have_no_arrows() {
        let found = arrows(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "#[cfg(test)]\nmod tests;\n"),
            ("a/tests.rs", "use crate::b::B;\n"),
            ("b.rs", "pub(crate) struct B;\n"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }
}

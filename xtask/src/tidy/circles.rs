//! The circles: files of one crate that import each other in a loop can only be read, changed and tested together.
//!
//! An arrow leads from a file to the file that defines what it names, past every `pub use` that hands the name on. Tests
//! and their helpers are left out.

mod arrows;
mod names;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::Result;

use self::arrows::Crate;
use super::crates::PARTS;
use crate::workspace::Workspace;

/// The arrows of a crate: for each file those that define what it names.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Names the circles that are too large.
pub(super) fn faults(workspace: &Workspace) -> Result<Vec<String>> {
    let mut crates: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for file in workspace.files()? {
        let name = file.to_string_lossy().replace('\\', "/");
        if let Some((of, place)) = name.split_once("/src/")
            && file.extension().is_some_and(|extension| extension == "rs")
            && (!of.contains('/') || of.starts_with(PARTS))
            && let Ok(text) = fs::read_to_string(workspace.root.join(&file))
        {
            crates.entry(of.to_owned()).or_default().insert(place.to_owned(), text);
        }
    }
    let mut faults = Vec::new();
    for (name, sources) in crates {
        let library = Crate::new(&sources);
        // A program for this repository alone, such as xtask, names its types by module.
        if sources.contains_key("lib.rs") {
            faults.extend(names::repeated(&name, &library));
        }
        let arrows = library.arrows();
        faults.extend(too_large(&name, &circles(&arrows)));
        faults.extend(knots(&name, &arrows));
    }
    Ok(faults)
}

/// Names the sets of modules at the root of a crate that need each other in a circle, beside the one that the crate may
/// still have, and a maximum of that which is higher than it has to be.
fn knots(name: &str, arrows: &Arrows) -> Vec<String> {
    let module = |file: &str| file.split(['/', '.']).next().unwrap_or(file).to_owned();
    let is_root = |file: &str| matches!(file, "lib.rs" | "main.rs");
    let mut modules = Arrows::new();
    for (file, named) in arrows.iter().filter(|(file, _)| !is_root(file)) {
        let own = module(file);
        let others = named.iter().filter(|other| !is_root(other)).map(|other| module(other));
        let others: Vec<_> = others.filter(|other| *other != own).collect();
        modules.entry(own).or_default().extend(others);
    }
    let knots = circles(&modules);
    let most = KNOTS.iter().find(|(of, _)| *of == name).map_or(0, |(_, most)| *most);
    let mut faults: Vec<_> = knots
        .iter()
        .filter(|knot| knot.len() > most)
        .map(|knot| format!("{name}: these modules need each other: {}", knot.join(", ")))
        .collect();
    let largest = knots.iter().map(Vec::len).max().unwrap_or(0);
    if largest < most {
        faults.push(format!(
            "{name}: the largest knot has {largest} modules by now; lower it in tidy/circles.rs"
        ));
    }
    faults
}

/// Names the circles of more files than the crate may have, and a maximum that is higher than it has to be.
fn too_large(name: &str, circles: &[Vec<String>]) -> Vec<String> {
    let listed = LARGER.iter().find(|(of, _)| *of == name).map(|(_, most)| *most);
    let most = listed.unwrap_or(MAX_FILES);
    let mut faults: Vec<_> = circles
        .iter()
        .filter(|circle| circle.len() > most)
        .map(|circle| {
            format!(
                "{name}: {} files import each other in a circle, {most} at most may: {}",
                circle.len(),
                circle.join(", ")
            )
        })
        .collect();
    let largest = circles.iter().map(Vec::len).max().unwrap_or(0).max(MAX_FILES);
    if listed.is_some_and(|most| largest < most) {
        faults.push(format!(
            "{name}: the largest circle has {largest} files by now; lower its maximum in tidy/circles.rs"
        ));
    }
    faults
}

/// Returns the strongly connected components of more than one file, the largest first (Tarjan).
fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let mut search = Search { arrows, order: BTreeMap::new(), way: Vec::new(), found: Vec::new() };
    for file in arrows.keys() {
        if !search.order.contains_key(file.as_str()) {
            search.visit(file);
        }
    }
    search.found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    search.found
}

struct Search<'a> {
    arrows: &'a Arrows,
    /// When a file was seen first, and the earliest file on the way that it leads back to.
    order: BTreeMap<&'a str, (usize, usize)>,
    way: Vec<&'a str>,
    found: Vec<Vec<String>>,
}

impl<'a> Search<'a> {
    fn visit(&mut self, file: &'a str) -> usize {
        let own = self.order.len();
        self.order.insert(file, (own, own));
        self.way.push(file);
        let mut earliest = own;
        for next in self.arrows.get(file).into_iter().flatten() {
            let reached = match self.order.get(next.as_str()) {
                None => self.visit(next),
                Some((seen, _)) if self.way.contains(&next.as_str()) => *seen,
                Some(_) => continue,
            };
            earliest = earliest.min(reached);
        }
        self.order.insert(file, (own, earliest));
        if earliest == own {
            let start = self.way.iter().position(|other| *other == file).unwrap_or(0);
            let mut circle: Vec<_> = self.way.split_off(start).into_iter().map(str::to_owned).collect();
            circle.sort();
            if circle.len() > 1 {
                self.found.push(circle);
            }
        }
        earliest
    }
}

/// How many files may import each other in a circle.
const MAX_FILES: usize = 5;

/// The crates that have larger circles, each with the size of its largest; the numbers only ever go down.
const LARGER: [(&str, usize); 4] =
    [("mgp-discovery", 7), ("mgp-security", 6), ("mgp-types", 16), ("xtask", 7)];

/// The crates with modules that need each other, each with how many do; the numbers only ever go down.
const KNOTS: [(&str, usize); 1] = [("mgp-types", 16)];

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(of: &[(&str, &[&str])]) -> Arrows {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        of.iter().map(|(file, named)| ((*file).to_owned(), owned(named))).collect()
    }

    #[test]
    fn files_that_lead_back_to_each_other_are_a_circle() {
        let arrows = arrows(&[
            ("a.rs", &["b.rs"]),
            ("b.rs", &["c.rs", "d.rs"]),
            ("c.rs", &["a.rs"]),
            ("d.rs", &[]),
            ("e.rs", &["a.rs"]),
        ]);
        assert_eq!(circles(&arrows), [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn a_circle_of_more_than_five_files_is_named_and_a_smaller_one_is_not() {
        let circle = |count: usize| (0..count).map(|number| format!("{number}.rs")).collect::<Vec<_>>();
        assert_eq!(too_large("a", &[circle(MAX_FILES)]), Vec::<String>::new());
        let faults = too_large("a", &[circle(MAX_FILES + 1)]);
        assert!(faults[0].contains("6 files") && faults[0].ends_with("5.rs"), "{faults:?}");
    }

    #[test]
    fn modules_at_the_root_that_need_each_other_are_named() {
        let tied =
            arrows(&[("a/mod.rs", &["b.rs"]), ("b.rs", &["a/c.rs", "d.rs"]), ("a/c.rs", &[]), ("d.rs", &[])]);
        assert_eq!(knots("crate", &tied), ["crate: these modules need each other: a, b"]);
        let free = arrows(&[
            ("a/mod.rs", &["a/c.rs", "lib.rs"]),
            ("a/c.rs", &["a/mod.rs"]),
            ("lib.rs", &["a/mod.rs"]),
        ]);
        assert_eq!(knots("crate", &free), Vec::<String>::new());
    }
}

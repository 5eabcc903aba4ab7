//! The categories of tools: their paths, and the search for tools by them (§16.4).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use mgp_types::mcp::ToolAnnotations;
use smallvec::SmallVec;

use crate::server_tools::ToolText;

mod browse;
mod derive;
mod path;

pub(crate) use self::browse::browse;
pub use self::path::CategoryPath;

/// The number of categories of one tool: a tool in all categories would be found in none.
const MAX_CATEGORIES: usize = 8;

/// The number of declared categories that are read.
const MAX_READ: usize = 64;

/// The category above the category of each server.
const SERVER: &str = "server";

/// Returns the categories of a tool: those that its server declares; if there are none, those that the words of the
/// tool suggest. The category of its server is always among them, so that every tool can be found by browsing.
pub(crate) fn of(text: &ToolText<'_>, annotations: &ToolAnnotations) -> Box<[CategoryPath]> {
    let mut paths: SmallVec<[CategoryPath; MAX_CATEGORIES]> = SmallVec::new();
    for path in text.categories.iter().take(MAX_READ).filter_map(|declared| CategoryPath::read(declared)) {
        if paths.len() < MAX_CATEGORIES - 1 && !paths.contains(&path) {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        paths.extend(derive::derive(text, annotations));
    }
    if let Some(server) = CategoryPath::read(&format!("{SERVER}/{}", text.server))
        && !paths.contains(&server)
    {
        paths.push(server);
    }
    paths.into_vec().into()
}

/// The number of categories in the list at most.
const MAX_LISTED: usize = 100;

/// Returns the uppermost of the categories that each of some tools has, by name; of too many, those with the most tools.
///
/// The categories stand for all tools at level L1 (§16.3). The category of all servers is left out, because it tells
/// nothing.
pub(crate) fn uppermost<'a>(tools: impl Iterator<Item = &'a [CategoryPath]>) -> Vec<String> {
    let mut counts: HashMap<&str, usize, RandomState> = HashMap::default();
    for categories in tools {
        let names = || categories.iter().filter_map(name);
        for (at, name) in names().enumerate() {
            if !names().take(at).any(|before| before == name) {
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    let mut by_size: Vec<_> = counts.into_iter().collect();
    by_size.sort_unstable_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
    by_size.truncate(MAX_LISTED);
    let mut names: Vec<_> = by_size.into_iter().map(|(name, _)| name.to_owned()).collect();
    names.sort_unstable();
    names
}

/// The length of a name at most, in characters.
const LONGEST: usize = 40;

/// Returns the name of the category, if it is one. The name comes from a server and becomes a part of the kernel's own
/// words for the model, so that it must be a name and nothing else.
fn name(category: &CategoryPath) -> Option<&str> {
    let name = category.levels().next().filter(|level| *level != SERVER)?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    (name.chars().count() <= LONGEST && name.chars().all(is_name)).then_some(name)
}

#[cfg(test)]
mod tests;

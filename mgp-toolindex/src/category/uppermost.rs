use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{CategoryPath, SERVER};
use crate::tool::Tool;

/// The uppermost categories of some tools, those with the most tools if there are too many, by name.
///
/// They stand in for all tools at level L1 (§16.3). That of all servers is none of them: it says nothing.
pub(crate) fn uppermost<'a>(tools: impl Iterator<Item = &'a Tool>) -> Vec<String> {
    let mut counts: HashMap<&str, usize, RandomState> = HashMap::default();
    for tool in tools {
        let names = || tool.categories.iter().filter_map(name);
        for (at, name) in names().enumerate() {
            if !names().take(at).any(|before| before == name) {
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    let mut by_size: Vec<_> = counts.into_iter().collect();
    by_size.sort_unstable_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
    by_size.truncate(MOST);
    let mut names: Vec<_> = by_size.into_iter().map(|(name, _)| name.to_owned()).collect();
    names.sort_unstable();
    names
}

/// It comes from a server and goes to the model as a part of the kernel's own words, so it has to be a name and no more.
fn name(category: &CategoryPath) -> Option<&str> {
    let name = category.levels().next().filter(|level| *level != SERVER)?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    (name.chars().count() <= LONGEST && name.chars().all(is_name)).then_some(name)
}

const MOST: usize = 100;

/// In characters.
const LONGEST: usize = 40;

//! Where tools belong: paths of categories, and the hierarchy that they make (§16.4).

mod derive;
mod find;
mod hierarchy;
mod path;
mod topics;
mod uppermost;

use mgp_types::mcp::ToolAnnotations;
use smallvec::SmallVec;

pub use self::hierarchy::{Category, Hierarchy};
pub use self::path::CategoryPath;
pub(crate) use self::uppermost::uppermost;
use crate::tool::ToolText;

/// The categories of a tool: what its server declares; if that is nothing, what the words of the tool say. There is
/// always the one of its server, so every tool can be found by browsing.
pub(crate) fn of(text: &ToolText<'_>, annotations: &ToolAnnotations) -> Box<[CategoryPath]> {
    let mut paths: SmallVec<[CategoryPath; MOST]> = SmallVec::new();
    for path in text.categories.iter().take(MOST_READ).filter_map(|declared| CategoryPath::read(declared)) {
        if paths.len() < MOST - 1 && !paths.contains(&path) {
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

/// The category of all servers, each of which is one below it.
const SERVER: &str = "server";

/// A tool that is everywhere is nowhere.
const MOST: usize = 8;

/// Of a longer list no more than this is looked at.
const MOST_READ: usize = 64;

#[cfg(test)]
mod tests;

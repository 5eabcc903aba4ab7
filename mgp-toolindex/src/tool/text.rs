use std::borrow::Cow;

use super::{Listing, Parameter, Server, parameters};

/// The words that a tool can be found by, in the order of their weight. All of it comes from its server, and none
/// of it is to be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct ToolText<'a> {
    /// The name for programs.
    pub(crate) name: Cow<'a, str>,
    /// The name for people.
    pub(crate) title: Cow<'a, str>,
    /// What it does.
    pub(crate) description: Cow<'a, str>,
    /// What it wants.
    pub(crate) parameters: Vec<Parameter>,
    /// The id of its server.
    pub(crate) server: Cow<'a, str>,
    /// What its server is for.
    pub(crate) server_description: Cow<'a, str>,
    /// Words it is to be found by.
    pub(crate) keywords: Cow<'a, [String]>,
    /// Where it belongs.
    pub(crate) categories: Vec<Cow<'a, str>>,
}

impl<'a> ToolText<'a> {
    /// The words of a tool that `server` lists.
    pub(crate) fn of(listing: &'a Listing, server: &'a Server) -> Self {
        let text = |member| listing.members.text(member).unwrap_or_default();
        Self {
            name: Cow::Borrowed(listing.name.as_str()),
            title: text("title"),
            description: text("description"),
            parameters: listing
                .members
                .get("inputSchema")
                .map(|schema| parameters::of(&schema))
                .unwrap_or_default(),
            server: Cow::Borrowed(server.id.as_str()),
            server_description: Cow::Borrowed(&server.description),
            keywords: Cow::Borrowed(&listing.hints.keywords),
            categories: listing.hints.categories.iter().map(|category| category.as_str().into()).collect(),
        }
    }
}

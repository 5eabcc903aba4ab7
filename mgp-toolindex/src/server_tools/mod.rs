//! Servers and their tools, as the index is given them.

use std::borrow::Cow;
use std::sync::Arc;

use mgp_types::mgp::method::INDEX_META;
use mgp_types::mgp::{Permission, RiskLevel, ServerId, ServerState, ToolHints, ToolName, ToolSecurity};
use mgp_types::{Object, RawJson};

/// A server with its tools.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerTools {
    /// The server.
    pub server: Server,
    /// The tools of the server. Of two tools of one name the first counts.
    pub tools: Vec<ToolListing>,
}

impl ServerTools {
    /// Creates a connected server with these tools.
    pub fn new(id: impl Into<ServerId>, tools: Vec<ToolListing>) -> Self {
        Self { server: Server::new(id), tools }
    }

    mgp_types::setters! { self =>
        /// Sets the purpose of the server.
        pub fn description(description: impl Into<Arc<str>>) => self.server.description = description.into();

        /// Uses the vectors that the server sends with its tools, if they name the embedder in use. A server that lies
        /// can make its tools near to any query, which cannot be seen from the vectors; so this is for trusted servers.
        pub fn trust_vectors() => self.server.has_trusted_vectors = true;
    }
}

/// The facts about a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// The id of the server.
    pub id: ServerId,
    /// The purpose of the server; may be empty.
    pub description: Arc<str>,
    /// The state of the server.
    pub state: ServerState,
    /// Set if the vectors that the server sends are used.
    pub(crate) has_trusted_vectors: bool,
}

impl Server {
    /// Creates a connected server.
    pub fn new(id: impl Into<ServerId>) -> Self {
        Self {
            id: id.into(),
            description: "".into(),
            state: ServerState::Connected,
            has_trusted_vectors: false,
        }
    }
}

/// A tool as a server lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolListing {
    pub(crate) name: ToolName,
    pub(crate) members: Object,
    pub(crate) hints: ToolHints,
    pub(crate) risk: RiskLevel,
    pub(crate) permissions: Vec<Permission>,
    pub(crate) is_qualified: bool,
}

impl ToolListing {
    /// Reads a definition. Without a declared risk the tool counts as dangerous; [`risk`](Self::risk) sets a better
    /// value.
    pub fn read(definition: &RawJson) -> Result<Self, ToolListingError> {
        let members = Object::from_raw(definition).map_err(|_| ToolListingError::NotAnObject)?;
        let name = members.text("name").filter(|name| !name.is_empty()).ok_or(ToolListingError::NoName)?;
        let name = ToolName::from(&*name);
        let declared = members.get(ToolSecurity::MEMBER).and_then(|raw| raw.to::<ToolSecurity>().ok());
        let in_meta =
            members.object("_meta").and_then(|meta| meta.get(INDEX_META)).and_then(|hints| hints.to().ok());
        let mut hints: ToolHints = in_meta.unwrap_or_default();
        for (member, words) in [("categories", &mut hints.categories), ("keywords", &mut hints.keywords)] {
            words
                .extend(members.get(member).and_then(|own| own.to::<Vec<String>>().ok()).unwrap_or_default());
        }
        Ok(Self {
            name,
            members,
            hints,
            risk: declared.as_ref().map_or(RiskLevel::Dangerous, |security| security.risk_level),
            permissions: declared.map(|security| security.permissions_required).unwrap_or_default(),
            is_qualified: false,
        })
    }

    mgp_types::setters! { self =>
        /// Sets the risk of a call, whatever the definition says.
        pub fn risk(risk: RiskLevel) => self.risk = risk;

        /// Sets the permissions that a call needs, whatever the definition says.
        pub fn permissions(permissions: impl IntoIterator<Item = Permission>) =>
            self.permissions = permissions.into_iter().collect();

        /// Makes models call the tool by its server and name, as a gateway's; else they do only where another server
        /// has a tool of that name.
        pub fn qualified() => self.is_qualified = true;

        /// Sets the search hints of the tool, whatever the definition says.
        pub fn hints(hints: ToolHints) => self.hints = hints;
    }
}

/// The reason why a definition cannot be indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolListingError {
    /// The definition is not an object.
    #[error("the definition of a tool must be a JSON object")]
    NotAnObject,
    /// The name is missing or empty.
    #[error("a tool needs a name that is not empty")]
    NoName,
}

/// The words that a tool can be found by, in the order of their weight. All of them come from its server, and none is
/// trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolText<'a> {
    /// The name for programs.
    pub(crate) name: Cow<'a, str>,
    /// The name for people.
    pub(crate) title: Cow<'a, str>,
    /// The description.
    pub(crate) description: Cow<'a, str>,
    /// The arguments.
    pub(crate) parameters: Vec<ToolParameter>,
    /// The id of its server.
    pub(crate) server: Cow<'a, str>,
    /// The purpose of its server.
    pub(crate) server_description: Cow<'a, str>,
    /// The keywords of the tool.
    pub(crate) keywords: Cow<'a, [String]>,
    /// The categories of the tool.
    pub(crate) categories: Vec<Cow<'a, str>>,
}

impl<'a> ToolText<'a> {
    /// Returns the words of a tool that `server` lists.
    pub(crate) fn of(listing: &'a ToolListing, server: &'a Server) -> Self {
        let text = |member| listing.members.text(member).unwrap_or_default();
        let schema = listing.members.get("inputSchema");
        Self {
            name: Cow::Borrowed(listing.name.as_str()),
            title: text("title"),
            description: text("description"),
            parameters: schema.map(|schema| parameters(&schema)).unwrap_or_default(),
            server: Cow::Borrowed(server.id.as_str()),
            server_description: Cow::Borrowed(&server.description),
            keywords: Cow::Borrowed(&listing.hints.keywords),
            categories: listing.hints.categories.iter().map(|category| category.as_str().into()).collect(),
        }
    }
}

/// An argument that a tool takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolParameter {
    /// The name of the argument.
    pub(crate) name: String,
    /// The description of the argument; may be empty.
    pub(crate) description: String,
}

/// Returns the arguments that a JSON Schema describes, with nested ones after the outer ones.
fn parameters(schema: &RawJson) -> Vec<ToolParameter> {
    let mut found = Vec::new();
    collect(schema, 0, &mut found);
    found
}

const DEEPEST: usize = 3;

/// The number of arguments that are read; more tell nothing new about a tool.
const MAX_ARGUMENTS: usize = 64;

fn collect(schema: &RawJson, depth: usize, found: &mut Vec<ToolParameter>) {
    let Ok(schema) = Object::from_raw(schema) else { return };
    let mut inner = Vec::new();
    if let Some(properties) = schema.object("properties") {
        for (name, property) in properties.iter() {
            if found.len() == MAX_ARGUMENTS {
                return;
            }
            let members = Object::from_raw(&property).unwrap_or_default();
            let description = members.text("description").unwrap_or_default().into_owned();
            found.push(ToolParameter { name: name.into_owned(), description });
            inner.push(property);
        }
    }
    inner.extend(schema.get("items"));
    if depth < DEEPEST {
        for schema in &inner {
            collect(schema, depth + 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(definition: &serde_json::Value) -> Result<ToolListing, ToolListingError> {
        ToolListing::read(&RawJson::from_value(definition).unwrap())
    }

    #[test]
    fn what_is_not_said_counts_as_dangerous() {
        assert_eq!(read(&json!({ "name": "x" })).unwrap().risk, RiskLevel::Dangerous);
        let said = read(&json!({ "name": "x", "security": { "risk_level": "safe" } })).unwrap();
        assert_eq!(said.risk, RiskLevel::Safe);
    }

    #[test]
    fn a_definition_without_a_name_is_refused() {
        assert_eq!(read(&json!([])).unwrap_err(), ToolListingError::NotAnObject);
        assert_eq!(read(&json!({ "name": "" })).unwrap_err(), ToolListingError::NoName);
        assert_eq!(read(&json!({ "name": 1 })).unwrap_err(), ToolListingError::NoName);
    }

    #[test]
    fn hints_of_the_server_are_read_and_nonsense_is_none() {
        let hints = json!({ "categories": ["files/read"], "keywords": ["open"] });
        let listing = read(&json!({ "name": "x", "_meta": { INDEX_META: hints } })).unwrap();
        assert_eq!(listing.hints.categories, ["files/read"]);
        let mut listed = json!({ "name": "x", "categories": ["filesystem"], "keywords": ["text"] });
        let listing = read(&listed).unwrap();
        assert_eq!(
            (&*listing.hints.categories, &*listing.hints.keywords),
            (&["filesystem".into()][..], &["text".into()][..])
        );
        listed["_meta"] = json!({ INDEX_META: hints });
        assert_eq!(read(&listed).unwrap().hints.categories, ["files/read", "filesystem"]);
        let listing = read(&json!({ "name": "x", "keywords": 1, "_meta": { INDEX_META: [1] } })).unwrap();
        assert_eq!(listing.hints, ToolHints::default());
    }

    fn names(schema: &serde_json::Value) -> Vec<String> {
        parameters(&RawJson::from_value(schema).unwrap())
            .into_iter()
            .map(|parameter| parameter.name)
            .collect()
    }

    #[test]
    fn arguments_are_found_within_objects_and_lists() {
        let schema = r#"{ "type": "object", "properties": {
            "to": { "type": "array", "items": { "properties": { "address": { "type": "string" } } } },
            "subject": { "type": "string", "description": "One line" }
        } }"#;
        let found = parameters(&RawJson::parse(schema).unwrap());
        let names: Vec<&str> = found.iter().map(|parameter| parameter.name.as_str()).collect();
        assert_eq!(names, ["to", "subject", "address"]);
        assert_eq!(found[1].description, "One line");
    }

    #[test]
    fn nonsense_has_no_arguments_and_there_is_an_end_to_them() {
        assert!(names(&json!({ "properties": [1, 2] })).is_empty());
        assert!(names(&json!(true)).is_empty());
        let many: serde_json::Map<_, _> = (0..1000).map(|n| (format!("p{n}"), json!({}))).collect();
        assert_eq!(names(&json!({ "properties": many })).len(), MAX_ARGUMENTS);
    }
}

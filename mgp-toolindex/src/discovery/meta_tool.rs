//! The tools that stand for all others.

use mgp_types::mcp::{ForRevision, Tool, ToolAnnotations};
use mgp_types::mgp::method;
use mgp_types::{RawJson, Revision};

/// How the names of the meta-tools are spelled in a list; calls may use any spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Spelling {
    /// `mgp/tools/discover` for peers that speak MGP, `mgp.tools.discover` for others.
    #[default]
    ByPeer,
    /// `mgp/tools/discover`, as the specification has it; many models take no `/` in a name.
    Slashes,
    /// `mgp.tools.discover`.
    Dots,
    /// `mgp_tools_discover`, which every model takes.
    Underscores,
}

impl Spelling {
    fn spell(self, name: &str, to_mgp: bool) -> String {
        match self {
            Self::Slashes => name.to_owned(),
            Self::ByPeer if to_mgp => name.to_owned(),
            Self::ByPeer | Self::Dots => name.replace('/', "."),
            Self::Underscores => name.replace('/', "_"),
        }
    }
}

/// Which meta-tools are listed; all can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MetaTools {
    /// `discover`.
    Discover,
    /// `discover` and `request`.
    #[default]
    DiscoverAndRequest,
    /// Those, `session` and `session/evict`.
    All,
}

/// Whom meta-tools are listed for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    pub(super) revision: Revision,
    pub(super) speaks_mgp: bool,
}

/// The definitions of the meta-tools, with the names of categories to browse, if there are any.
pub(super) fn definitions(
    listed: MetaTools,
    spelling: Spelling,
    reader: Reader,
    categories: &[String],
) -> Vec<RawJson> {
    let mut tools = vec![discover(categories)];
    if listed != MetaTools::Discover {
        tools.push(tool(method::TOOLS_REQUEST, REQUEST.into(), REQUEST_SCHEMA));
    }
    if listed == MetaTools::All {
        tools.push(tool(method::TOOLS_SESSION, SESSION.into(), SESSION_SCHEMA));
        tools.push(tool(method::TOOLS_SESSION_EVICT, EVICT.into(), EVICT_SCHEMA));
    }
    tools
        .into_iter()
        .filter_map(|mut tool| {
            tool.name = spelling.spell(&tool.name, reader.speaks_mgp);
            RawJson::from_value(&tool.for_revision(reader.revision)).ok()
        })
        .collect()
}

fn discover(categories: &[String]) -> Tool {
    if categories.is_empty() {
        return tool(method::TOOLS_DISCOVER, DISCOVER.into(), DISCOVER_SCHEMA);
    }
    let description = format!("{DISCOVER} Categories: {}.", categories.join(", "));
    tool(method::TOOLS_DISCOVER, description, BROWSE_SCHEMA)
}

fn tool(name: &str, description: String, schema: &'static str) -> Tool {
    let schema = RawJson::parse(schema).unwrap_or_else(|_| RawJson::empty_object());
    Tool::new(name, schema)
        .with_description(description)
        .with_annotations(Box::new(ToolAnnotations::new().with_read_only_hint(true)))
}

const DISCOVER: &str = "Finds tools that are not listed here. Search when no listed tool can do it; \
    call what it finds by name, at once.";
const DISCOVER_SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":"What the tool must do"},"max_results":{"type":"integer"}},"required":["query"]}"#;
const BROWSE_SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":"What the tool must do"},"max_results":{"type":"integer"},"filter":{"type":"object","properties":{"categories":{"type":"array","items":{"type":"string"}}}}},"required":["query"]}"#;

const REQUEST: &str = "Loads tools for capabilities that a task turns out to need; says which it lacks.";
const REQUEST_SCHEMA: &str = r#"{"type":"object","properties":{"context":{"type":"string","description":"The step at hand"},"requirements":{"type":"object","properties":{"capabilities":{"type":"array","items":{"type":"string"}}}}}}"#;

const SESSION: &str = "Tells which tools are loaded, and their tokens.";
const SESSION_SCHEMA: &str = r#"{"type":"object"}"#;

const EVICT: &str = "Unloads tools that are no longer needed.";
const EVICT_SCHEMA: &str = r#"{"type":"object","properties":{"tools":{"type":"array","items":{"type":"string"}}},"required":["tools"]}"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(listed: MetaTools, spelling: Spelling, speaks_mgp: bool) -> Vec<String> {
        let reader = Reader { revision: Revision::LATEST, speaks_mgp };
        definitions(listed, spelling, reader, &[])
            .iter()
            .map(|tool| tool.to::<Tool>().unwrap().name)
            .collect()
    }

    #[test]
    fn names_are_spelled_for_whoever_reads_them() {
        let both = MetaTools::default();
        assert_eq!(names(both, Spelling::ByPeer, true), ["mgp/tools/discover", "mgp/tools/request"]);
        assert_eq!(names(both, Spelling::ByPeer, false), ["mgp.tools.discover", "mgp.tools.request"]);
        assert_eq!(names(MetaTools::Discover, Spelling::Underscores, true), ["mgp_tools_discover"]);
        assert_eq!(names(MetaTools::All, Spelling::Dots, true)[3], "mgp.tools.session.evict");
    }

    #[test]
    fn each_says_what_it_takes_and_that_it_changes_nothing() {
        let reader = Reader { revision: Revision::LATEST, speaks_mgp: false };
        for tool in definitions(MetaTools::All, Spelling::ByPeer, reader, &["mail".into()]) {
            let tool: Tool = tool.to().unwrap();
            assert!(tool.description.is_some());
            assert_eq!(tool.annotations.unwrap().read_only_hint, Some(true));
            let schema: serde_json::Value = tool.input_schema.to().unwrap();
            assert_eq!(schema["type"], "object");
        }
    }

    #[test]
    fn the_oldest_revision_is_not_told_what_it_does_not_know() {
        let reader = Reader { revision: Revision::V2024_11_05, speaks_mgp: false };
        let tools = definitions(MetaTools::All, Spelling::ByPeer, reader, &[]);
        assert!(tools.iter().all(|tool| tool.to::<Tool>().unwrap().annotations.is_none()));
    }

    #[test]
    fn both_together_take_few_tokens() {
        let reader = Reader { revision: Revision::LATEST, speaks_mgp: true };
        let tools = definitions(MetaTools::default(), Spelling::ByPeer, reader, &[]);
        let bytes: usize = tools.iter().map(|tool| tool.as_bytes().len()).sum();
        assert!(bytes < 900, "{bytes} bytes");
    }
}

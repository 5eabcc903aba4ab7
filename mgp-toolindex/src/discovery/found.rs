use mgp_types::RawJson;
use mgp_types::mgp::{FoundTool, NameStyle, RiskLevel, ToolSecurity};

use crate::budget::Definition;
use crate::{Snapshot, Tool};

/// A tool as it stands in an answer, with all that is needed to call it.
pub(super) fn found(snapshot: &Snapshot, tool: &Tool, names: NameStyle) -> FoundTool {
    let members = tool.members();
    let schema = members.get("inputSchema").filter(RawJson::is_object);
    let mut found = FoundTool::new(
        snapshot.shown_name(tool, names),
        tool.server.clone(),
        schema.unwrap_or_else(RawJson::empty_object),
    );
    found.description = tool.description();
    found.security = Some(security(tool));
    found
}

/// A tool as it stands in the list of the session.
pub(super) fn loaded(
    snapshot: &Snapshot,
    tool: &Tool,
    names: NameStyle,
    definition: Option<&Definition>,
) -> FoundTool {
    let mut found = found(snapshot, tool, names);
    if let Some(definition) = definition.filter(|definition| definition.is_shortened())
        && let Ok(members) = mgp_types::Object::from_raw(definition.json())
    {
        found.description = members.text("description").map(Into::into).unwrap_or_default();
        found.input_schema = members.get("inputSchema").unwrap_or(found.input_schema);
        found.schema_shortened = true;
    }
    found
}

/// What the server says of its tool's security, but no less than what whoever put the tool into the index says.
fn security(tool: &Tool) -> ToolSecurity {
    let declared = tool.members().get(ToolSecurity::MEMBER).and_then(|raw| raw.to().ok());
    let mut security: ToolSecurity = declared.unwrap_or_else(|| ToolSecurity::new(RiskLevel::Safe));
    security.risk_level = tool.risk;
    security.permissions_required = tool.permissions.to_vec();
    security
}

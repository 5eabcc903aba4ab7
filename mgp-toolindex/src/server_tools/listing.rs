//! Tools as servers list them.

use mgp_types::mgp::method::INDEX_META;
use mgp_types::mgp::{Permission, RiskLevel, ToolHints, ToolName, ToolSecurity};
use mgp_types::{Object, RawJson};

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
        let hints =
            members.object("_meta").and_then(|meta| meta.get(INDEX_META)).and_then(|hints| hints.to().ok());
        Ok(Self {
            name,
            members,
            hints: hints.unwrap_or_default(),
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
        let listing = read(&json!({ "name": "x", "_meta": { INDEX_META: [1] } })).unwrap();
        assert_eq!(listing.hints, ToolHints::default());
    }
}

use std::collections::BTreeMap;

use mgp_types::Object;
use mgp_types::mgp::{Permission, RiskLevel};
use serde::Serialize;

use super::derive::derive;
use super::nature::Natures;

/// What a tool is, as its definition tells where its server says nothing of security.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Profile {
    /// What its calls need.
    pub permissions: Vec<Permission>,
    /// How dangerous a call is.
    pub risk: RiskLevel,
    /// What its arguments are, by their names, as far as anything is known of them.
    pub arguments: BTreeMap<String, &'static str>,
}

impl Profile {
    /// Derives the profile of the tool that `definition` describes.
    pub fn of(definition: &Object) -> Self {
        let natures = Natures::of(definition);
        let derived = derive(definition, &natures);
        let arguments = natures.known().into_iter().map(|(name, nature)| (name.to_owned(), nature.name()));
        Self { permissions: derived.permissions, risk: derived.risk, arguments: arguments.collect() }
    }
}

//! What a folder's servers cannot have opened: addresses, and rules for their definitions.

use super::super::model::{ServerDefinitions, ServerNetwork};
use super::{Merge, Place, Reason};

impl Merge<'_> {
    /// Passes over what would open addresses to a server, or end rules for its definitions.
    pub(super) fn openings(
        &mut self,
        network: &ServerNetwork,
        definitions: &ServerDefinitions,
        place: &Place,
    ) {
        let ServerNetwork { allow, preset } = network;
        let ServerDefinitions { allow: rules } = definitions;
        for (table, key, is_said) in [
            ("network", "allow", !allow.is_empty()),
            ("network", "preset", preset.is_some()),
            ("definitions", "allow", !rules.is_empty()),
        ] {
            if is_said {
                self.ignore(place.key(table).key(key), Reason::UsersOnly);
            }
        }
    }
}

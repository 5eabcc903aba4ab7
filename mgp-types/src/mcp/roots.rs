//! Roots: the directories that a client opens to a server.

use super::body::body;

body! {
    /// A directory or file that a server may work on.
    pub struct Root and meta [since V2025_06_18] => with_meta {
        /// The URI of the root, with the scheme `file:`.
        required uri: String = "uri";
        /// The name for people.
        optional name: String = "name" => with_name;
    }

    /// The params of `roots/list`.
    pub struct ListRootsParams with meta {}

    /// The result of `roots/list`.
    pub struct ListRootsResult and meta [until V2025_11_25] {
        /// The roots.
        required roots: Vec<Root> = "roots";
    }

    /// The params of `notifications/roots/list_changed`.
    pub struct RootsListChangedParams with meta {}
}

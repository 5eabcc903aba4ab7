//! The sections `[tools]` and `[names]`.

use mgp_types::mgp::NameStyle;
use mgp_types::{Context, Object};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tables::tables;

tables! {
    /// The tools that a model sees, and how it searches for others.
    pub struct ToolSettings: Debug {
        /// The part of the tools that is listed; `auto` if left out.
        pub level: ListLevel,
        /// The tools that are always listed, as `server.tool`.
        pub pinned: Vec<String>,
        /// The embedder for searches by meaning: `auto` or `static`, the built-in table of words; or `fastembed:DIRECTORY`,
        /// a sentence encoder that onnxruntime runs, in a build with the feature `fastembed`. `auto` if left out.
        pub embedder: Option<String>,
        /// The space in a model's context that tools may take.
        pub budget: BudgetSettings,
    }

    /// The tokens that tool definitions may take in a model's context (§16.8).
    pub struct BudgetSettings: Debug, Eq {
        /// The most tokens for all tools together; 8000 if left out.
        pub max_tokens: Option<u32>,
        /// The most tokens for pinned tools; 2000 if left out.
        pub pinned_reserve: Option<u32>,
        /// The most tokens for other listed tools; 3000 if left out.
        pub cache_limit: Option<u32>,
        /// The most tokens for what a search finds; 3000 if left out.
        pub discovery_reserve: Option<u32>,
    }

    /// The spelling of the names of tools and prompts for clients. Calls may use either style, whichever is listed.
    pub struct NameSettings: Debug, Eq {
        /// The style of the names; `auto` if left out.
        pub style: NameStyleSetting,
    }

    /// The style of the names of tools and prompts.
    pub enum NameStyleSetting: Default {
        /// Names have dots for peers that speak MGP, underscores for all others.
        #[default]
        Auto,
        /// Names are `server.tool`. Some clients and models refuse them.
        Dots,
        /// Names are `server__tool`, of `A-Za-z0-9_-` only.
        Underscores,
    }
}

/// The part of the tools that is listed (§16.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub enum ListLevel {
    /// All tools are listed if they fit into `budget.max_tokens`; otherwise those of `L3`, and the foremost tools of
    /// each server in half of `budget.cache_limit`.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// All tools are listed.
    L0,
    /// Categories and the search tools are listed.
    L1,
    /// The search tools are listed.
    L2,
    /// The search tools and the tools that were found, used or pinned are listed.
    L3,
}

impl NameSettings {
    /// Returns the style for the client that sent a request.
    pub fn of(&self, context: &Context) -> NameStyle {
        let session = context.session.as_deref();
        let peer = session.and_then(|session| Object::from_raw(session.peer.as_ref()?).ok());
        let name = peer.and_then(|peer| Some(peer.text("name")?.to_lowercase())).unwrap_or_default();
        let style = match self.style {
            NameStyleSetting::Auto => NameStyle::of_peer(context),
            NameStyleSetting::Dots => NameStyle::DOTS,
            NameStyleSetting::Underscores => NameStyle::UNDERSCORES,
        };
        longest_tool_name(&name).map_or(style, |longest| style.at_most(longest))
    }
}

/// The numbers of characters that clients accept in the name of a tool, less those that they put in front of it: the name
/// of the server, which is `mgp` unless the user chose another, and what stands around it.
const LIMITS: [(&[&str], u8); 6] = [
    // The prefix is `mcp__mgp__`.
    (&["claude-code", "codex-mcp-client"], 64 - 10),
    // The prefix is `mgp` and a separator; longer names are left out of the list.
    (&["cursor", "cursor-vscode"], 60 - 4),
    // The prefix has up to 18 characters.
    (&["visual studio code", "visual studio code - insiders", "vscode"], 64 - 18),
    // The prefix is `mgp__`.
    (&["gemini-cli-mcp-client"], 63 - 5),
    // The prefix is `mcp--mgp--`.
    (&["cline", "roo code", "roo cline"], 64 - 10),
    // The prefix is `mgp_`.
    (&["opencode", "crush", "continue-client", "zed", "windsurf-client"], 64 - 4),
];

/// Returns the number of characters that a client accepts in the name of a tool. `client` is the name that the client
/// gives itself, in lower case. Returns `None` for an unknown client.
pub(super) fn longest_tool_name(client: &str) -> Option<u8> {
    LIMITS.iter().find(|(clients, _)| clients.contains(&client)).map(|(_, longest)| *longest)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mgp_types::mgp::NameStyle;
    use mgp_types::{RawJson, Revision, Session};

    use super::*;

    fn client(name: &str) -> Context {
        let mut session = Session::new(Revision::LATEST);
        session.peer = Some(RawJson::parse(format!(r#"{{"name":"{name}"}}"#)).unwrap());
        let mut context = Context::default();
        context.session = Some(Arc::new(session));
        context
    }

    #[test]
    fn names_are_as_long_as_the_client_takes_and_of_the_style_that_is_set() {
        let usual = NameSettings::default();
        assert_eq!(usual.of(&Context::default()), NameStyle::UNDERSCORES);
        assert_eq!(usual.of(&client("somebody")), NameStyle::UNDERSCORES);
        assert_eq!(usual.of(&client("Cursor-vscode")), NameStyle::UNDERSCORES.at_most(56));
        let settings = NameSettings { style: NameStyleSetting::Dots };
        assert_eq!(settings.of(&client("cursor-vscode")), NameStyle::DOTS.at_most(56));
    }

    #[test]
    fn what_a_client_puts_in_front_leaves_room_for_every_name() {
        let (server, tool) =
            ("a-server-with-a-long-name", "and_a_tool_whose_name_is_even_longer_than_that_of_its_server");
        for (clients, most) in LIMITS {
            for client in clients {
                assert_eq!(*client, client.to_lowercase());
                let longest = longest_tool_name(client).unwrap();
                let name = NameStyle::UNDERSCORES.at_most(longest).write(server, tool);
                assert!(name.len() <= usize::from(most), "{client}: {name}");
            }
        }
    }
}

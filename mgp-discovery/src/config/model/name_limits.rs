/// Returns the number of characters that a client accepts in the name of a tool. `client` is the name that the client
/// gives itself, in lower case. Returns `None` for an unknown client. Clients put the name of the server in front,
/// which is `mgp` unless the user chose another.
pub(super) fn longest_tool_name(client: &str) -> Option<u8> {
    LIMITS.iter().find(|known| known.clients.contains(&client)).map(|known| known.longest - known.in_front)
}

/// The longest names of tools for clients of one kind.
struct Limit {
    clients: &'static [&'static str],
    /// The maximum number of characters that the client accepts, including those in front.
    longest: u8,
    /// The number of characters that the client puts in front of the name of a tool.
    in_front: u8,
}

const LIMITS: &[Limit] = &[
    // `mcp__mgp__`
    Limit { clients: &["claude-code", "codex-mcp-client"], longest: 64, in_front: 10 },
    // `mgp` and a separator; longer ones are left out of the list.
    Limit { clients: &["cursor", "cursor-vscode"], longest: 60, in_front: 4 },
    // A prefix of up to 18 characters.
    Limit {
        clients: &["visual studio code", "visual studio code - insiders", "vscode"],
        longest: 64,
        in_front: 18,
    },
    // `mgp__`
    Limit { clients: &["gemini-cli-mcp-client"], longest: 63, in_front: 5 },
    // `mcp--mgp--`
    Limit { clients: &["cline", "roo code", "roo cline"], longest: 64, in_front: 10 },
    // `mgp_`
    Limit {
        clients: &["opencode", "crush", "continue-client", "zed", "windsurf-client"],
        longest: 64,
        in_front: 4,
    },
];

#[cfg(test)]
mod tests {
    use mgp_types::mgp::NameStyle;

    use super::*;

    #[test]
    fn what_a_client_puts_in_front_leaves_room_for_every_name() {
        let (server, tool) =
            ("a-server-with-a-long-name", "and_a_tool_whose_name_is_even_longer_than_that_of_its_server");
        for limit in LIMITS {
            for client in limit.clients {
                assert_eq!(*client, client.to_lowercase());
                let longest = longest_tool_name(client).unwrap();
                let name = NameStyle::UNDERSCORES.at_most(longest).write(server, tool);
                assert!(
                    name.len() + usize::from(limit.in_front) <= usize::from(limit.longest),
                    "{client}: {name}"
                );
            }
        }
    }
}

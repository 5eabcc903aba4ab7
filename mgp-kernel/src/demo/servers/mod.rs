//! The servers of the demo. Each is a process of its own: this program, with the name of the server.

mod clock;
mod files;
mod fragile;
mod notes;
mod scripted;
mod shell;

use anyhow::bail;

/// The ids of the servers, with their descriptions.
pub(super) const ALL: [(&str, &str); 8] = [
    ("calendar", "Appointments, invitations and free time"),
    ("clock", "Times and durations"),
    ("files", "Files of one folder"),
    ("fragile", "A counter that crashes on demand"),
    ("issues", "Projects and their issues"),
    ("mail", "Messages and folders of one mailbox"),
    ("notes", "Short notes"),
    ("shell", "Commands and scripts"),
];

/// Serves the server of this name on standard input and output, until the client is gone.
///
/// # Errors
/// Fails if there is no such server, or if the connection broke.
pub(super) async fn serve(name: &str) -> anyhow::Result<()> {
    match name {
        "clock" => clock::server().serve_stdio().await?,
        "files" => files::server()?.serve_stdio().await?,
        "fragile" => fragile::server().serve_stdio().await?,
        "notes" => notes::server().serve_stdio().await?,
        "shell" => shell::server()?.serve_stdio().await?,
        _ => match scripted::server(name)? {
            Some(server) => server.serve_stdio().await?,
            None => bail!("there is no server `{name}`; there are {}", ALL.map(|(name, _)| name).join(", ")),
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unknown_server_is_told_with_those_that_there_are() {
        let error = serve("nobody").await.unwrap_err().to_string();
        assert!(error.contains("`nobody`") && error.contains("calendar, clock"), "{error}");
    }

    #[test]
    fn there_are_more_tools_than_anybody_wants_in_a_prompt() {
        let servers = [
            clock::server().tools(),
            files::server().unwrap().tools(),
            fragile::server().tools(),
            notes::server().tools(),
            shell::server().unwrap().tools(),
        ];
        let scripted =
            ["calendar", "issues", "mail"].map(|name| scripted::server(name).unwrap().unwrap().tools());
        let tools: usize = servers.iter().chain(&scripted).map(Vec::len).sum();
        // So many are worth a search, whatever the budget.
        assert!(tools >= 40, "only {tools} tools");
    }
}

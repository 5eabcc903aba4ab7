//! Servers that operators add to the configuration while the kernel runs.

use mgp_discovery::clients::{ClientKind, read};
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::{ConfigFile, ProcessEnvironment};
use mgp_types::Error;
use mgp_types::mgp::AuditTarget;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::operation::{KernelNeed, Operation, OperatorCall};
use crate::AppliedConfig;
use crate::admin::config_import::{ConfigImport, LiteralSecrets, client_by_content};
use crate::install::{InstallLookup, InstallPlan, InstallRequest, Installer};
use crate::terminal::Failure;

/// Adds servers to the file of the configuration as `mgp import` does, all of them or none, and takes the configuration.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct AddServers {
    /// The id of a server.
    server_id: Option<String>,
    /// The URL of that server, or its program and arguments, which blanks divide.
    start: Option<String>,
    /// The configuration of a client with servers, in place of a single one.
    pasted: Option<String>,
}

impl Operation for AddServers {
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = AppliedConfig;

    async fn run(self, call: &OperatorCall) -> Result<AppliedConfig, Error> {
        let servers =
            self.servers().map_err(|why| Error::invalid_params(format!("nothing was added: {why}")))?;
        if let Some(known) = servers.iter().find_map(|server| call.kernel.fleet.get(&server.id)) {
            let what =
                format!("nothing was added: there is a server `{}` already; choose another id", known.id());
            return Err(Error::invalid_params(what));
        }
        for server in &servers {
            let target = AuditTarget::new(Some(server.id.as_str().into()), None);
            call.record("dev.cloto.mgp.server_added", target, &[]).await?;
        }
        let applied = call.kernel.change_config(Box::new(move |file| add(&servers, file))).await;
        applied.map_err(|error| Error::invalid_params(error.to_string()))
    }
}

impl AddServers {
    /// Returns the servers to add, with the values of their secrets.
    ///
    /// # Errors
    /// There is none, or one cannot be used, with the reason.
    fn servers(self) -> Result<Vec<ServerConfig>, String> {
        let text = match (self.pasted, self.server_id, self.start) {
            (Some(pasted), ..) => pasted,
            (None, Some(id), Some(start)) => {
                let words: Vec<_> = start.split_whitespace().collect();
                let is_url = start.contains("://") && words.len() == 1;
                let entry = if is_url { json!({ "url": words[0] }) } else { json!({ "command": words }) };
                json!({ "mcpServers": { id: entry } }).to_string()
            }
            _ => return Err("write an id, and a command line or a URL; or paste a configuration".to_owned()),
        };
        let kind = client_by_content(None, &text).unwrap_or(ClientKind::ClaudeDesktop);
        let found = read(kind, &text, None).map_err(|error| error.to_string())?;
        if let Some(skipped) = found.skipped.first() {
            return Err(format!("`{}` in line {}: {}", skipped.name, skipped.at.line, skipped.why));
        }
        if found.servers.is_empty() {
            let form = r#"{"mcpServers": {"NAME": {"command": "PROGRAM"}}}"#;
            return Err(format!("no server stands in what was pasted, which should look like {form}"));
        }
        Ok(found.servers.into_iter().map(|server| server.config).collect())
    }
}

impl Operation for InstallRequest {
    type Reply = InstallLookup;

    async fn run(self, call: &OperatorCall) -> Result<InstallLookup, Error> {
        let config = call.kernel.config.load_full();
        let looked_up = async {
            Installer::new(config.downloads.registry.as_deref())?.look_up(&self, &config.servers).await
        };
        looked_up.await.map_err(|failure| Error::invalid_params(failure.message().to_owned()))
    }
}

/// Adds a server of the registry to the file of the configuration, as it was shown, and takes the configuration.
#[derive(Serialize, Deserialize)]
pub(crate) struct InstallServer {
    /// The command that was shown, and its variables after blanks; if the registry says others by now, nothing is added.
    command: String,
    #[serde(default)]
    variables: String,
    #[serde(flatten)]
    request: InstallRequest,
}

impl Operation for InstallServer {
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = AppliedConfig;

    async fn run(self, call: &OperatorCall) -> Result<AppliedConfig, Error> {
        let is_shown =
            |plan: &InstallPlan| plan.command == self.command && plan.variables.join(" ") == self.variables;
        let plan = self.request.run(call).await?.plan.filter(is_shown);
        let changed = || {
            Error::invalid_params("nothing was added: the registry says something else by now; look again")
        };
        let plan = plan.ok_or_else(changed)?;
        let target = AuditTarget::new(Some(plan.server_id.as_str().into()), None);
        call.record("dev.cloto.mgp.server_added", target, &[("package", plan.package.as_str())]).await?;
        let applied = call.kernel.change_config(Box::new(move |file| plan.write_to(file))).await;
        applied.map_err(|error| Error::invalid_params(error.to_string()))
    }
}

/// Adds servers to a file, and keeps their secrets where `mgp import` keeps them.
fn add(servers: &[ServerConfig], file: &mut ConfigFile) -> Result<(), Failure> {
    let path = file.path().to_owned();
    let mut import = ConfigImport::into(&path, file.clone(), LiteralSecrets::Refer, &ProcessEnvironment)?;
    import.reserve(servers);
    for server in servers {
        import.add(server.clone())?;
    }
    // The secrets are stored before the configuration refers to them.
    import.keep_secrets()?;
    *file = import.file;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(start: &str) -> ServerConfig {
        let (server_id, start) = (Some("a".to_owned()), Some(start.to_owned()));
        AddServers { server_id, start, pasted: None }.servers().unwrap().remove(0)
    }

    fn pasted(text: &str) -> Result<Vec<ServerConfig>, String> {
        AddServers { pasted: Some(text.to_owned()), ..AddServers::default() }.servers()
    }

    #[test]
    fn a_server_is_a_command_line_or_a_url() {
        let server = wanted(" npx  -y server ");
        assert_eq!((server.id.as_str(), server.command.as_deref()), ("a", Some("npx")));
        assert_eq!(server.args, ["-y", "server"]);
        assert_eq!(wanted("https://a.example/mcp").url.as_deref(), Some("https://a.example/mcp"));
        assert!(AddServers::default().servers().is_err());
    }

    #[test]
    fn what_is_pasted_is_read_whole_or_refused() {
        let servers = pasted(r#"{"mcpServers": {"a": {"command": "x"}, "b": {"url": "https://b.example"}}}"#);
        let ids: Vec<_> = servers.unwrap().into_iter().map(|server| server.id).collect();
        assert_eq!(ids, ["a", "b"]);
        assert_eq!(pasted(r#"{"servers": {"c": {"command": "x"}}}"#).unwrap()[0].id, "c");
        for (text, why) in [
            (r#"{"mcpServers": {"a": {"command": "x"}, "b": {}}}"#, "`b` in line 1"),
            ("{}", "no server"),
            ("{\"mcpServers\": ", "line 1"),
        ] {
            let refused = pasted(text).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn a_server_that_stands_in_the_file_already_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.toml");
        std::fs::write(&path, "[[servers]]\nid = 'a'\ncommand = 'x'\n").unwrap();
        let mut file = ConfigFile::open(&path).unwrap();
        let refused = add(&[wanted("y")], &mut file).unwrap_err();
        assert!(refused.message().contains("already has a server `a`"), "{}", refused.message());
        assert_eq!(file.text(), file.text_before());
    }
}

use super::super::model::ListenSettings;
use super::{config, folders, parse};

pub(super) const LISTEN: &str = "[listen]\nhttp='0.0.0.0:8443'\npublic_url='https://mgp.example/mcp'\n\
    [listen.oauth]\nissuers=[{issuer='https://id.example'}]\n";

fn server(oauth: &str) -> String {
    format!("[[servers]]\nid='a'\nurl='https://a.example/mcp'\n[servers.oauth]\n{oauth}\n")
}

/// A server to which each agent has a connection of its own.
fn of_agents(oauth: &str) -> String {
    server(oauth).replace("id='a'\n", "id='a'\nsharing='agent'\n")
}

#[test]
fn tables_of_authorization_are_read_and_tokens_demand_that_every_client_shows_one() {
    let text =
        format!("{LISTEN}[[agents]]\nid='ada'\ntokens=[{{issuer='https://id.example', subject='1'}}]\n");
    let read = config(&text);
    assert!(read.listen.keys_required());
    let local = text.replace("0.0.0.0", "127.0.0.1");
    assert!(config(&local).listen.keys_required());
    config(&server(
        "issuer='https://id.example'\nclient_id='c'\nclient_secret='${secret:S}'\ngrant='client_credentials'",
    ));
    config(&server("scopes=['read']\ndpop=true"));
    let known = "issuer='https://id.example'\nclient_id='c'";
    config(&server(&format!("grant='workload_identity'\ntoken_file='/t'\n{known}")));
    config(&of_agents(&format!("grant='token_exchange'\n{known}")));
}

#[test]
fn secrets_of_authorization_are_never_shown() {
    let text = server("issuer='https://id.example'\nclient_id='c'\nclient_secret='hunter2'")
        .replace("id='a'", "id='a'\nenv={A='hunter2'}");
    let read = config(&text);
    assert!(!format!("{read:?}").contains("hunter2"));
    let page = "[[groups]]\nname='a'\n[ui.oauth]\nclient_id='c'\nclient_secret='hunter2'\noperators=['@a']\n";
    assert!(!format!("{:?}", config(&format!("{LISTEN}{page}"))).contains("hunter2"));
    let broken = parse(&server("issuer='https://id.example'\nclient_id='c'\nclient_secret='hunter2${'"))
        .unwrap_err()
        .to_string();
    assert!(!broken.contains("hunter2"), "{broken}");
}

#[test]
fn a_folder_changes_nothing_of_how_clients_come_in() {
    for key in ["public_url='https://x.example/mcp'", "tls={certificate='c', key='k'}"] {
        let folder = format!("[listen]\n{key}\n");
        let merged = folders::config("", &folder);
        assert_eq!(merged.listen, ListenSettings::default(), "{key}");
    }
}

#[test]
fn the_page_leaves_the_machine_by_https_alone() {
    let page = "[ui]\nlisten='0.0.0.0'\n";
    let broken = parse(page).unwrap_err().to_string();
    assert!(broken.contains("served by HTTPS alone"), "{broken}");
    config(&format!("{page}[listen.tls]\ncertificate='c'\nkey='k'\n"));
    config("[ui]\nlisten='localhost:7333'\n");
}

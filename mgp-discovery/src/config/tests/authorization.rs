use super::super::model::ListenSettings;
use super::super::problem::Severity;
use super::problems::refused;
use super::{config, folders, parse};

const LISTEN: &str = "[listen]\nhttp='0.0.0.0:8443'\npublic_url='https://mgp.example/mcp'\n\
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
fn what_cannot_work_is_an_error_at_its_place() {
    let asked = |name: &str| {
        format!(
            "{{issuer='https://{name}.example', introspection={{\
            url='https://{name}.example/i', client_id='c', client_secret='${{secret:S}}'}}}}"
        )
    };
    let agent = "[[agents]]\nid='ada'\ntokens=[{issuer='https://id.example', subject='1'}]\n";
    let beginnings = [
        ("ASKED", ["a", "b"].map(asked).join(", ")),
        ("ISSUERS ", "[listen]\npublic_url='https://mgp.example/mcp'\n[listen.oauth]\nissuers=".to_owned()),
        ("TWICE", format!("{LISTEN}{agent}{}", agent.replace("ada", "bob"))),
        ("SERVER ", server("")),
        ("OF_AGENTS ", of_agents("")),
    ];
    let cases = r"
        [listen.oauth]\nissuers=[{issuer='https://a.example'}] => listen.oauth => public_url
        [listen]\npublic_url='http://mgp.example/mcp' => listen.public_url => https://
        [listen]\npublic_url='https://mgp.example/mcp?a=1' => listen.public_url => query
        [listen]\ntls={certificate='', key='k'} => listen.tls.certificate => PEM
        ISSUERS [] => listen.oauth => issuers
        ISSUERS [{issuer='id.example'}] => listen.oauth.issuers[0].issuer => https://
        ISSUERS [{issuer='http://id.example'}] => listen.oauth.issuers[0].issuer => https://
        ISSUERS [{issuer='https://a.x'}, {issuer='https://a.x'}] => listen.oauth.issuers[1].issuer => one of the entries
        ISSUERS [ASKED] => listen.oauth.issuers[1].introspection => keep one
        ISSUERS [{issuer='https://a.x', algorithms=['HS256']}] => listen.oauth.issuers[0].algorithms[0] => RS256
        ISSUERS [{issuer='https://a.x', algorithms=['none']}] => listen.oauth.issuers[0].algorithms[0] => EdDSA
        [[agents]]\nid='ada'\ntokens=[{issuer='https://x.y', subject='1'}] => agents[0].tokens[0].issuer => exactly
        TWICE => agents[1].tokens[0] => one agent
        SERVER issuer='https://id.x'\nclient_secret='x' => servers[0].oauth => client_id
        SERVER issuer='https://id.x'\nclient_id='c'\nclient_secret='x'\nprivate_key='y' => servers[0].oauth => keep
        SERVER client_id='c'\nclient_secret='x' => servers[0].oauth.client_secret => issuer
        SERVER client_id='c'\nclient_secret='x'\ngrant='client_credentials' => servers[0].oauth.client_secret => issuer
        SERVER grant='client_credentials' => servers[0].oauth.grant => login
        OF_AGENTS grant='token_exchange'\nissuer='https://id.x' => servers[0].oauth.grant => client_id
        OF_AGENTS grant='token_exchange'\nclient_id='c' => servers[0].oauth.grant => issuer
        SERVER grant='token_exchange'\nclient_id='c'\nissuer='https://id.x' => servers[0].oauth.grant => sharing
        SERVER grant='workload_identity'\nclient_id='c'\nissuer='https://id.x' => servers[0].oauth.grant => token_file
        SERVER token_file='/t' => servers[0].oauth.token_file => workload_identity
        SERVER issuer='https://id.x'\nclient_id='c'\nclient_secret='${' => servers[0].oauth.client_secret =>
        [[servers]]\nid='a'\ncommand='x'\n[servers.oauth] => servers[0].oauth => remove
        [[servers]]\nid='a'\nurl='https://a.x'\nheaders={authorization='x'}\n[servers.oauth] => servers[0].oauth => Authorization
    ";
    for case in cases.trim().lines() {
        let parts: Vec<&str> = case.split(" =>").map(str::trim).collect();
        let [text, key, instead] = parts[..] else { panic!("{case}") };
        let written = text.replace("\\n", "\n");
        let text = beginnings.iter().fold(written, |text, (name, stands)| text.replace(name, stands));
        let problem = refused(&text);
        assert_eq!(problem.key.as_deref(), Some(key), "{problem}");
        assert!(problem.instead.as_deref().is_some_and(|it| it.contains(instead)), "{problem}");
        assert_eq!(problem.severity, Severity::Error);
    }
}

#[test]
fn secrets_of_authorization_are_never_shown() {
    let text = server("issuer='https://id.example'\nclient_id='c'\nclient_secret='hunter2'")
        .replace("id='a'", "id='a'\nenv={A='hunter2'}");
    let read = config(&text);
    assert!(!format!("{read:?}").contains("hunter2"));
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
